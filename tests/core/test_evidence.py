"""Recorded and published evidence: kept whole, checked, and never trusted blindly."""

import os

import pytest

from course_utils import record
from course_utils.core import evidence
from course_utils.core.evidence import EvidenceError, published, recorded, recorded_machines, series
from course_utils.core.measurement import Measurement
from tests.support.evidence import RECORDED
from tests.support.recordings import forge, put

pytestmark = pytest.mark.without_torch

ROWS = [{"what": "a", "run_seconds": 0.5}, {"what": "b", "run_seconds": 0.25}]


@pytest.fixture
def kept(recording, fake_machine):
    """The file of two rows recorded on a GPU."""
    fake_machine(gpus=1)
    record("speed", ROWS)
    return recording / "h200-x1" / "02_async_execution" / "speed.json"


def test_what_was_recorded_comes_back_with_its_machine_date_and_spread(kept):
    found = recorded("speed")
    assert found.rows == ROWS and found.machine == "H200"
    assert found.provenance.startswith("recorded: H200, torch 2.11.0, 20")
    assert found.value("run_seconds", what="b") == 0.25
    record("speed", {"a": Measurement((1.0, 2.0, 3.0, 4.0, 5.0), 6, 0.0, "host")})
    spread = {"run_seconds_q1": 2.0, "run_seconds_q3": 4.0, "run_seconds_n": 5}
    assert recorded("speed").rows == [{"what": "a", "run_seconds": 3.0} | spread]


@pytest.mark.parametrize(
    "damage, says",
    [
        (lambda path: path.write_text(path.read_text()[:99]), "can't be read as a recording"),
        (lambda path: path.write_text("[]"), "can't be read as a recording"),
        (
            lambda path: path.write_text(path.read_text().replace("0.25", "0.24")),
            "checksum differs",
        ),
        (lambda path: forge(path, put(1, "version")), "recorded by version 1"),
        (lambda path: forge(path, put([{"what": "a"}], "rows")), "lacks what every recording has"),
        (lambda path: forge(path, put({}, "machine")), "lacks what every recording has"),
    ],
    ids=["cut short", "a list", "edited", "another version", "without a column", "no machine"],
)
def test_a_bad_file_is_passed_over_with_a_sentence(kept, capsys, damage, says):
    damage(kept)
    assert recorded("speed") is None
    said = capsys.readouterr().out
    assert says in said and "make record" in said


def test_a_recording_without_a_gpu_or_rows_gives_way_to_one_with(kept, fake_machine):
    fake_machine(gpus=2)
    record("speed", [])
    fake_machine(gpus=0)
    record("speed", ROWS[:1])
    assert recorded("speed").machine == "H200"
    assert len(recorded_machines("02_async_execution")) == 2


def test_rows_of_other_columns_and_numbers_that_are_none_are_refused(kept):
    for rows in ([{"what": "a", "ms": 3}], {"a": float("nan")}, {"a": float("inf")}):
        with pytest.raises(EvidenceError, match=r"declares the columns .*wants finite numbers"):
            record("speed", rows)
    assert recorded("speed").rows == ROWS


def test_unknown_names_bring_the_known_ones(own_data):
    with pytest.raises(EvidenceError, match=r"no experiment 'sped'. It has: claims, speed"):
        recorded("sped")
    with pytest.raises(EvidenceError, match="No chapter '99_none' records"):
        recorded("99_none/speed")
    with pytest.raises(EvidenceError, match=r"No published figures.*two_devices"):
        published("nothing")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(kept, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(EvidenceError, match="No space left"):
        record("speed", ROWS[:1])
    assert recorded("speed").rows == ROWS and list(kept.parent.iterdir()) == [kept]


def test_every_published_figure_has_a_source_and_rows():
    for name in evidence.published_names():
        found = published(name)
        assert found.source and found.rows


@pytest.mark.parametrize("text", ["", "{", "[]"], ids=["empty", "cut short", "a list"])
def test_a_broken_data_file_says_how_to_get_it_back(own_data, text):
    (own_data / "published.json").write_text(text)
    with pytest.raises(EvidenceError, match=r"git checkout data/published.json"):
        published("two_devices")


def test_series_takes_two_columns_where_the_others_match():
    assert series(RECORDED, "what", "seconds", n=2).values == {"copy": 3.0}
    assert series(None, "what", "seconds") is None
