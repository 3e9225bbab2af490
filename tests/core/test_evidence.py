"""Recorded and published evidence: kept whole, checked, and never trusted blindly."""

import json
import os

import pytest

from course_utils import record
from course_utils.core import evidence
from course_utils.core import recording as keeping
from course_utils.core.evidence import EvidenceError, published, recorded, recorded_machines, series
from course_utils.core.measurement import Measurement
from tests.support.evidence import RECORDED

pytestmark = pytest.mark.without_torch

ROWS = [{"what": "a", "run_seconds": 0.5}, {"what": "b", "run_seconds": 0.25}]


def the_file(folder):
    (path,) = folder.glob("*/02_async_execution/speed.json")
    return path


def test_what_was_recorded_comes_back_with_its_machine_and_date(recording, fake_machine):
    fake_machine(gpus=1)
    record("speed", ROWS)
    found = recorded("speed")
    assert found.rows == ROWS
    assert found.machine == "H200"
    assert found.provenance.startswith("recorded: H200, torch 2.11.0, 20")
    assert found.value("run_seconds", what="b") == 0.25


def test_a_recorded_file_says_all_that_the_rules_ask_for(recording, fake_machine):
    fake_machine(gpus=2)
    record("speed", ROWS)
    content = json.loads(the_file(recording).read_text())
    assert the_file(recording).parts[-3:] == ("h200-x2", "02_async_execution", "speed.json")
    assert {"machine", "versions", "commit", "date", "rows", "version", "sha256"} <= set(content)
    assert content["machine"]["driver"] == "580.0"
    assert len(content["machine"]["gpus"]) == 2


def test_without_recording_nothing_is_written(own_data, fake_machine, monkeypatch):
    fake_machine(gpus=1)
    monkeypatch.delenv(keeping.RECORD_TO, raising=False)
    record("speed", ROWS)
    assert recorded("speed") is None
    assert not list(own_data.glob("recorded/**/*.json"))


def test_a_measurement_is_kept_with_its_quartiles_and_count(recording, fake_machine):
    fake_machine(gpus=1)
    record("speed", {"a": Measurement((1.0, 2.0, 3.0, 4.0, 5.0), 6, 0.0, "host")})
    (row,) = recorded("speed").rows
    assert row == {
        "what": "a",
        "run_seconds": 3.0,
        "run_seconds_q1": 2.0,
        "run_seconds_q3": 4.0,
        "run_seconds_n": 5,
    }


@pytest.mark.parametrize(
    "damage, says",
    [
        (lambda text: text[: len(text) // 2], "can't be read as a recording"),
        (lambda text: "[]", "can't be read as a recording"),
        (lambda text: text.replace("0.25", "0.24"), "checksum differs"),
    ],
    ids=["cut short", "another thing", "edited by hand"],
)
def test_a_bad_file_is_passed_over_with_a_sentence(recording, fake_machine, capsys, damage, says):
    fake_machine(gpus=1)
    record("speed", ROWS)
    path = the_file(recording)
    path.write_text(damage(path.read_text()))
    assert recorded("speed") is None
    said = capsys.readouterr().out
    assert says in said and "make record" in said


def test_a_recording_of_another_version_is_passed_over(
    recording, fake_machine, capsys, monkeypatch
):
    fake_machine(gpus=1)
    record("speed", ROWS)
    evidence.experiments()["02_async_execution"]["speed"]["version"] = 3
    assert recorded("speed") is None
    assert "version 2" in capsys.readouterr().out


def test_a_recording_without_a_gpu_gives_way_to_one_with(recording, fake_machine):
    fake_machine(gpus=1)
    record("speed", ROWS)
    fake_machine(gpus=0)
    record("speed", ROWS[:1])
    assert recorded("speed").machine == "H200"
    assert len(recorded_machines("02_async_execution")) == 2


def test_rows_of_other_columns_are_refused(recording, fake_machine):
    fake_machine(gpus=1)
    with pytest.raises(EvidenceError, match="declares the columns"):
        record("speed", [{"what": "a", "ms": 3}])
    assert not list(recording.glob("**/*.json"))


def test_unknown_names_bring_the_known_ones(own_data):
    with pytest.raises(EvidenceError, match=r"no experiment 'sped'. It has: claims, speed"):
        recorded("sped")
    with pytest.raises(EvidenceError, match="No chapter '99_none' records"):
        recorded("99_none/speed")
    with pytest.raises(EvidenceError, match=r"No published figures.*two_devices"):
        published("nothing")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_is_a_sentence(recording, fake_machine):
    fake_machine(gpus=1)
    recording.mkdir()
    recording.chmod(0o500)
    with pytest.raises(EvidenceError, match="isn't writable"):
        record("speed", ROWS)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    recording, fake_machine, monkeypatch
):
    fake_machine(gpus=1)
    record("speed", ROWS)
    before = the_file(recording).read_bytes()

    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(EvidenceError, match="No space left"):
        record("speed", ROWS[:1])
    assert the_file(recording).read_bytes() == before
    assert len(list(the_file(recording).parent.iterdir())) == 1


def test_every_published_figure_has_a_source_and_rows():
    for name in evidence.published_names():
        found = published(name)
        assert found.source and found.rows


def forge(path, change):
    """A file with another content and the right checksum, as only a program could make it."""
    content = json.loads(path.read_text())
    content.pop("sha256")
    change(content)
    content["sha256"] = evidence.digest(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("rows"),
        lambda c: c.pop("machine"),
        lambda c: c["machine"].pop("gpus"),
        lambda c: c["versions"].pop("torch"),
        lambda c: c.update(rows=[1, 2]),
        lambda c: c.update(rows=[{"what": "a"}]),
        lambda c: c.update(date=7),
    ],
)
def test_a_recording_that_lacks_something_is_passed_over(recording, fake_machine, capsys, change):
    fake_machine(gpus=1)
    record("speed", ROWS)
    forge(the_file(recording), change)
    assert recorded("speed") is None
    assert "lacks what every recording has" in capsys.readouterr().out


def test_an_experiment_recorded_without_rows_is_as_good_as_none(recording, fake_machine):
    fake_machine(gpus=1)
    record("speed", [])
    assert recorded("speed") is None


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_finite_number_is_not_recorded(recording, fake_machine, value):
    fake_machine(gpus=1)
    with pytest.raises(EvidenceError, match="finite"):
        record("speed", {"a": value})


@pytest.mark.parametrize("text", [None, "{", "[]"], ids=["missing", "cut short", "a list"])
def test_a_broken_data_file_says_how_to_get_it_back(own_data, text):
    (own_data / "published.json").unlink()
    if text:
        (own_data / "published.json").write_text(text)
    with pytest.raises(EvidenceError, match=r"git checkout data/published.json"):
        published("two_devices")


def test_series_takes_two_columns_where_the_others_match():
    assert series(RECORDED, "what", "seconds", n=2).values == {"copy": 3.0}
    assert series(None, "what", "seconds") is None
