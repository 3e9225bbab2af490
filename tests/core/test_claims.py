"""`claim` fails where the sentence isn't so, and says what it couldn't test."""

import json

import numpy as np
import pytest

from course_utils.core.claims import ClaimError, claim, follows, refuses
from course_utils.core.measurement import Measurement

pytestmark = pytest.mark.without_torch


@pytest.fixture(autouse=True)
def here(own_data, fake_machine):
    fake_machine()


def test_a_claim_prints_itself_or_raises_with_what_was_measured(capsys):
    claim("two-over-one", "two is more than one", np.bool_(2 > 1), got="2")
    claim("it-holds", "a callable is called", lambda: True)
    assert capsys.readouterr().out == "✓ two is more than one (2)\n✓ a callable is called\n"
    with pytest.raises(ClaimError, match=r"✗ one is more than two \(≈ 0.5\)"):
        claim("one-over-two", "one is more than two", 1 > 2, got="≈ 0.5")
    with pytest.raises(ClaimError):
        claim("lambda-is-called", "a lambda isn't true for being there", lambda: False)


def test_a_claim_with_a_bound_shows_its_value_its_bound_and_its_margin(capsys):
    claim("far-over-near", "far costs 3 times near", 12.0, above=3)
    claim("far-over-near", "far costs 3 times near", lambda: 4, above=3, got="of 5")
    assert capsys.readouterr().out == (
        "✓ far costs 3 times near (≈ 12 > 3, margin ≈ 4)\n"
        "✓ far costs 3 times near (of 5; 4 > 3, margin 1.33)\n"
    )
    with pytest.raises(ClaimError, match=r"✗ far costs 3 times near \(≈ 2, wanted > 3\)"):
        claim("far-over-near", "far costs 3 times near", 2.0, above=3)
    with pytest.raises(ClaimError):
        claim("far-over-near", "far costs 3 times near", float("nan"), above=3)


@pytest.mark.parametrize(
    "needs, gpus, is_there",
    [("gpu", 0, 0), ("gpus:2", 1, 0), ("cores:4", 0, 0), ("gpu", 1, 1), ("gpus:2", 2, 1)],
)
def test_a_claim_is_tested_only_where_what_it_needs_is(needs, gpus, is_there, fake_machine, capsys):
    fake_machine(gpus=gpus)
    if is_there:
        with pytest.raises(ZeroDivisionError):
            claim("it-holds", "it holds there", lambda: 1 / 0, needs=needs)
    else:
        claim("it-holds", "it holds there", lambda: 1 / 0, needs=needs)
        assert "– it holds there: not tested here" in capsys.readouterr().out


def test_an_untested_claim_says_on_which_machine_its_id_held(recording, fake_machine, capsys):
    fake_machine(gpus=1)
    claim("it-holds", "it holds there", True, needs="gpu")
    with pytest.raises(ClaimError):
        claim("it-fits", "batch 32 fits", False, needs="gpu")
    claim("it-fits", "batch 1 fits", True, needs="gpu")
    follows("rates-double", "one rate is twice the other", 4 == 2 * 2)
    (kept,) = recording.glob("*/*/claims.json")
    assert "rates-double" not in kept.read_text()  # arithmetic is no evidence of a machine
    fake_machine(gpus=0)
    claim("it-holds", "on such a machine it holds", True, needs="gpu")
    claim("it-too-holds", "it holds there", True, needs="gpu")
    claim("it-fits", "batch 1 fits", True, needs="gpu")
    reworded, another, failed = capsys.readouterr().out.splitlines()[-3:]
    assert "– on such a machine it holds: not tested here (a GPU is needed; held on H200, 20" in (
        reworded
    )
    assert "no machine has recorded it yet" in another
    assert "FAILED on H200" in failed  # of several cases one didn't hold


def test_a_timing_that_fails_beside_busy_programs_is_left_undecided(capsys):
    quiet, disturbed, unknown = (Measurement((1.0,), 1, o, "host") for o in (0.1, 0.9, None))
    for ratio in (quiet / disturbed, disturbed / quiet, disturbed):
        claim("far-over-near", "far costs 3 times near", ratio, above=3)
        assert "not decided, other programs took ≈ 0.9 cores" in capsys.readouterr().out
    claim("it-is-quick", "it is quick", False, timed=disturbed)
    assert "not decided" in capsys.readouterr().out
    claim("far-over-near", "far costs half of near", disturbed / quiet, above=0.5)
    assert capsys.readouterr().out.startswith("✓")
    for timed in (quiet, unknown):
        with pytest.raises(ClaimError):
            claim("it-is-quick", "it is quick", False, timed=timed)
    with pytest.raises(ClaimError):
        claim("far-over-near", "far costs 3 times near", quiet / quiet, above=3)


def test_what_should_fail_is_a_claim_too_and_prints_the_errors_first_line(capsys):
    with refuses("rank-fails", "a rank fails", RuntimeError):
        raise RuntimeError("rank 1 failed\n  3 | its line")
    assert capsys.readouterr().out == "✓ a rank fails (RuntimeError: rank 1 failed)\n"
    with pytest.raises(ClaimError, match="no error"), refuses("rank-fails", "it", RuntimeError):
        pass


def test_what_follows_has_a_mark_of_its_own_and_fails_where_it_does_not(capsys):
    follows("sheet-over-sheet", "the sheet's rate is twice the other's", 990 / 495 == 2)
    follows("sheet-over-sheet", "the sheet's rate is over half the other's", 1.25, above=0.5)
    assert capsys.readouterr().out == (
        "∴ the sheet's rate is twice the other's\n"
        "∴ the sheet's rate is over half the other's (1.25 > 0.5, margin 2.5)\n"
    )
    with pytest.raises(ClaimError, match="✗ three is more"):
        follows("three-over-four", "three is more than four", 3 > 4)
    took = Measurement((1.0,), 1, 0.0, "host")
    with pytest.raises(TypeError, match="far-over-near was measured here"):
        follows("far-over-near", "far costs half of near", took / took, above=0.5)


def test_the_journal_keeps_the_mark_and_the_margin(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_JOURNAL", str(tmp_path / "journal"))
    claim("far-over-near", "far costs 3 times near", 12.0, above=3)
    follows("two-over-one", "two is more than one", 2 > 1)
    tested, following = map(json.loads, (tmp_path / "journal").read_text().splitlines())
    assert (tested["mark"], tested["margin"]) == ("✓", 4)
    assert (following["mark"], following["margin"]) == ("∴", None)


@pytest.mark.parametrize("id", ["two is more than one", "Two-over-one", "two", "two_over_one", 2])
def test_what_is_no_id_is_refused_with_how_to_write_one(id):
    how = "begins with its id, two to four lower-case words joined by hyphens, then comes its"
    with pytest.raises(ValueError, match=how):
        claim(id, 2 > 1)
    with pytest.raises(ValueError, match=how), refuses(id, ZeroDivisionError):
        raise ZeroDivisionError


@pytest.mark.parametrize("condition", [float("nan"), (False, "message"), "False", [False], None])
def test_what_is_neither_true_nor_false_and_a_need_that_means_nothing_are_refused(condition):
    with pytest.raises(TypeError, match="a claim's condition is True or False"):
        claim("it-holds", "it holds", condition)
    with pytest.raises(ValueError, match="not 'tpu'"):
        claim("it-holds", "it holds", True, needs="tpu")
