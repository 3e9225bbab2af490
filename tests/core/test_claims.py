"""`claim` fails where the sentence isn't so, and says what it couldn't test."""

import pytest

from course_utils.core.claims import ClaimError, claim, follows, refuses
from course_utils.core.measurement import Measurement

pytestmark = pytest.mark.without_torch


def test_a_claim_that_holds_prints_itself(own_data, fake_machine, capsys):
    fake_machine()
    claim("two-over-one", "two is more than one", 2 > 1, got="2")
    assert capsys.readouterr().out == "✓ two is more than one (2)\n"


def test_a_claim_that_fails_raises_with_what_was_measured(own_data, fake_machine):
    fake_machine()
    with pytest.raises(ClaimError, match=r"✗ one is more than two \(≈ 0.5\)"):
        claim("one-over-two", "one is more than two", 1 > 2, got="≈ 0.5")


def test_a_callable_condition_is_called(own_data, fake_machine):
    fake_machine()
    with pytest.raises(ClaimError):
        claim("lambda-is-called", "a lambda isn't true for being there", lambda: False)


@pytest.mark.parametrize("needs, gpus", [("gpu", 0), ("gpus:2", 1), ("cores:4", 0)])
def test_what_is_missing_leaves_a_claim_untested(own_data, fake_machine, capsys, needs, gpus):
    fake_machine(gpus=gpus)
    claim("it-holds", "it holds there", lambda: 1 / 0, needs=needs)
    assert "– it holds there: not tested here" in capsys.readouterr().out


@pytest.mark.parametrize("needs, gpus", [("gpu", 1), ("gpus:2", 2), ("cores:2", 0)])
def test_what_is_there_is_tested(own_data, fake_machine, needs, gpus):
    fake_machine(gpus=gpus)
    with pytest.raises(ClaimError):
        claim("it-fails", "it fails here", False, needs=needs)


def test_an_untested_claim_names_the_machine_it_held_on(recording, fake_machine, capsys):
    fake_machine(gpus=1)
    claim("it-holds", "it holds there", True, needs="gpu")
    fake_machine(gpus=0)
    claim("it-holds", "it holds there", False, needs="gpu")
    assert "held on H200, 20" in capsys.readouterr().out


def test_rewording_a_claim_keeps_its_evidence(recording, fake_machine, capsys):
    fake_machine(gpus=1)
    claim("it-holds", "it holds there", True, needs="gpu")
    fake_machine(gpus=0)
    claim("it-holds", "on such a machine it holds", True, needs="gpu")
    assert "– on such a machine it holds: not tested here (a GPU is needed; held on H200" in (
        capsys.readouterr().out
    )
    claim("it-too-holds", "it holds there", True, needs="gpu")
    assert "no machine has recorded it yet" in capsys.readouterr().out


def test_a_claim_made_for_several_cases_held_where_all_of_them_did(recording, fake_machine, capsys):
    fake_machine(gpus=1)
    with pytest.raises(ClaimError):
        claim("it-fits", "batch 32 fits", False, needs="gpu")
    claim("it-fits", "batch 1 fits", True, needs="gpu")
    fake_machine(gpus=0)
    claim("it-fits", "batch 1 fits", True, needs="gpu")
    assert "FAILED on H200" in capsys.readouterr().out


@pytest.mark.parametrize("id", ["two is more than one", "Two-over-one", "two", "two_over_one", 2])
def test_what_is_no_id_is_refused_with_how_to_write_one(own_data, fake_machine, id):
    fake_machine()
    how = "begins with its id, two to four lower-case words joined by hyphens, then comes its"
    with pytest.raises(ValueError, match=how):
        claim(id, 2 > 1, "2")
    with pytest.raises(ValueError, match=how):
        claim(id, 2 > 1)
    with pytest.raises(ValueError, match=how), refuses(id, ZeroDivisionError):
        raise ZeroDivisionError


def test_what_should_fail_is_a_claim_too(own_data, fake_machine, capsys):
    fake_machine()
    with refuses("zero-divides", "nothing divides by zero", ZeroDivisionError):
        raise ZeroDivisionError
    assert capsys.readouterr().out.startswith("✓ nothing divides by zero (ZeroDivisionError: ")
    with (
        pytest.raises(ClaimError, match="no error"),
        refuses("zero-divides", "nothing divides by zero", ZeroDivisionError),
    ):
        pass


def test_a_claim_that_failed_there_is_not_called_held(recording, fake_machine, capsys):
    fake_machine(gpus=1)
    with pytest.raises(ClaimError):
        claim("it-fails", "it fails there", False, needs="gpu")
    fake_machine(gpus=0)
    claim("it-fails", "it fails there", True, needs="gpu")
    assert "FAILED on H200" in capsys.readouterr().out


def test_a_need_that_means_nothing_is_an_error(own_data, fake_machine):
    fake_machine()
    with pytest.raises(ValueError, match="not 'tpu'"):
        claim("it-holds", "it holds", True, needs="tpu")


def test_a_timing_that_fails_beside_busy_programs_is_left_undecided(own_data, fake_machine, capsys):
    fake_machine()
    claim("it-is-quick", "it is quick", False, timed=Measurement((1.0,), 1, 0.9, "host"))
    assert "not decided, other programs took ≈ 0.9 cores" in capsys.readouterr().out
    with pytest.raises(ClaimError):
        claim("it-is-quick", "it is quick", False, timed=Measurement((1.0,), 1, 0.1, "host"))
    with pytest.raises(ClaimError):
        claim("it-is-quick", "it is quick", False, timed=Measurement((1.0,), 1, None, "host"))


@pytest.mark.parametrize("condition", [float("nan"), (False, "message"), "False", [False], None])
def test_what_is_neither_true_nor_false_is_refused(own_data, fake_machine, condition):
    fake_machine()
    with pytest.raises(TypeError, match="a claim's condition is True or False"):
        claim("it-holds", "it holds", condition)


def test_numpys_truth_is_truth(own_data, fake_machine):
    import numpy as np

    fake_machine()
    claim("it-holds", "it holds", np.bool_(True))
    with pytest.raises(ClaimError):
        claim("it-holds", "it holds", np.array(1) > 2)


def test_a_claim_with_a_bound_shows_its_value_its_bound_and_its_margin(
    own_data, fake_machine, capsys
):
    fake_machine()
    claim("far-over-near", "far costs 3 times near", 12.0, above=3)
    assert capsys.readouterr().out == "✓ far costs 3 times near (≈ 12 > 3, margin ≈ 4)\n"
    claim("far-over-near", "far costs 3 times near", lambda: 4, above=3, got="of 5")
    assert capsys.readouterr().out == "✓ far costs 3 times near (of 5; 4 > 3, margin 1.33)\n"
    with pytest.raises(ClaimError, match=r"✗ far costs 3 times near \(≈ 2, wanted > 3\)"):
        claim("far-over-near", "far costs 3 times near", 2.0, above=3)
    with pytest.raises(ClaimError):
        claim("far-over-near", "far costs 3 times near", float("nan"), above=3)


@pytest.mark.parametrize("condition", [True, "12", [12], None])
def test_a_bound_wants_a_number(own_data, fake_machine, condition):
    fake_machine()
    with pytest.raises(TypeError):
        claim("far-over-near", "far costs 3 times near", condition, above=3)


def test_a_ratio_of_timings_knows_by_itself_that_the_machine_was_disturbed(
    own_data, fake_machine, capsys
):
    fake_machine()
    quiet, disturbed = (Measurement((1.0,), 1, others, "host") for others in (0.0, 0.9))
    for ratio in (quiet / disturbed, disturbed / quiet):
        claim("far-over-near", "far costs 3 times near", ratio, above=3)
        assert "not decided, other programs took ≈ 0.9 cores" in capsys.readouterr().out
    claim("far-over-near", "far costs 3 times near", disturbed, above=3)
    assert "not decided" in capsys.readouterr().out
    claim("far-over-near", "far costs half of near", disturbed / quiet, above=0.5)
    assert capsys.readouterr().out.startswith("✓")
    with pytest.raises(ClaimError):
        claim("far-over-near", "far costs 3 times near", quiet / quiet, above=3)


def test_what_follows_has_a_mark_of_its_own_and_fails_where_it_does_not(
    own_data, fake_machine, capsys
):
    fake_machine()
    follows("sheet-over-sheet", "the sheet's rate is twice the other's", 990 / 495 == 2)
    follows("sheet-over-sheet", "the sheet's rate is over half the other's", 1.25, above=0.5)
    assert capsys.readouterr().out == (
        "∴ the sheet's rate is twice the other's\n"
        "∴ the sheet's rate is over half the other's (1.25 > 0.5, margin 2.5)\n"
    )
    with pytest.raises(ClaimError, match="✗ three is more"):
        follows("three-over-four", "three is more than four", 3 > 4)


def test_a_measurement_is_no_arithmetic(own_data, fake_machine):
    fake_machine()
    took = Measurement((1.0,), 1, 0.0, "host")
    for measured in (took, took / took):
        with pytest.raises(TypeError, match="far-over-near was measured here"):
            follows("far-over-near", "far costs half of near", measured, above=0.5)


def test_what_follows_is_no_evidence_of_this_machine(recording, fake_machine):
    fake_machine(gpus=1)
    follows("two-over-one", "two is more than one", 2 > 1)
    assert list(recording.glob("*/*/claims.json")) == []


def test_the_journal_keeps_the_mark_and_the_margin(own_data, fake_machine, tmp_path, monkeypatch):
    import json

    fake_machine()
    monkeypatch.setenv("COURSE_JOURNAL", str(tmp_path / "journal"))
    claim("far-over-near", "far costs 3 times near", 12.0, above=3)
    follows("two-over-one", "two is more than one", 2 > 1)
    tested, following = map(json.loads, (tmp_path / "journal").read_text().splitlines())
    assert (tested["mark"], tested["margin"]) == ("✓", 4)
    assert (following["mark"], following["margin"]) == ("∴", None)


def test_of_an_error_of_many_lines_the_first_is_printed(capsys):
    with refuses("ranks-fail", "a rank fails", RuntimeError):
        raise RuntimeError("rank 1 failed\n  3 | its line")
    assert capsys.readouterr().out.splitlines() == ["✓ a rank fails (RuntimeError: rank 1 failed)"]
