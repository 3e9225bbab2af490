"""Recorded files are judged: those of the course, a good one, and one with every planted error."""

import hashlib
import json
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from course_utils.core import files
from course_utils.judging import offering
from course_utils.judging.judge import judge
from tests.support.recordings import CHAPTER, GOOD, forge, put

KEPT = [pytest.param(p, id="-".join(p.parts[-3:])) for p in offering.recordings(files.RECORDED)]
NONE = pytest.param(None, id="none: nothing is recorded yet")


@pytest.mark.parametrize("path", KEPT or [NONE])
def test_nothing_speaks_against_a_file_of_the_course(path):
    assert path is None or judge(path) == []


@pytest.mark.parametrize("experiment", GOOD)
def test_a_file_as_make_record_keeps_it_is_good(keep, experiment):
    assert judge(keep(experiment, GOOD[experiment])) == []


def drop(key, *inside):
    def change(content):
        for name in inside:
            content = content[name]
        del content[key]

    return change


DAY = timedelta(days=1)
TOMORROW = (datetime.now(UTC) + DAY).isoformat(timespec="seconds")


FORGED = {
    "a missing key": (drop("commit"), "'commit' is a required property"),
    "another key": (put("me", "author"), "'author' was unexpected"),
    "a key of the machine": (drop("driver", "machine"), "machine: 'driver' is a required"),
    "a version": (drop("torch", "versions"), "versions: 'torch' is a required property"),
    "a commit that is none": (put("main", "commit"), "commit: 'main' does not match"),
    "no commit": (put(None, "commit"), "commit: None is not of type 'string'"),
    "a digest too short": (put("c0de", "code"), "code: 'c0de' does not match"),
    "a date without a zone": (put("2026-11-21T10:00:00", "date"), "date: "),
    "the 31st of June": (put("2026-06-31T10:00:00Z", "date"), "is no date"),
    "a future date": (put(TOMORROW, "date"), "in the future"),
    "a date before the course": (put("2025-11-21T10:00:00Z", "date"), "before the course"),
    "rows within rows": (put([1], "rows", 0, "what"), "row 1: what: [1] is not of type"),
    "an unknown column": (put(1, "rows", 0, "colour"), "row 1: column colour isn't declared"),
    "a missing column": (drop("what", "rows", 0), "row 1: column what is missing"),
    "another version": (put(1, "version"), "version 1 of an experiment that is at 2"),
    "an unknown experiment": (put("sped", "experiment"), "has no experiment 'sped'"),
    "an unknown chapter": (put("99_none", "chapter"), "No chapter '99_none' records"),
    "negative seconds": (put(-1e-3, "rows", 0, "run_seconds"), "row 1: run_seconds -0.001 is neg"),
    "a negative quartile": (put(-1.0, "rows", 0, "run_seconds_q1"), "run_seconds_q1 -1 is neg"),
    "no number": (put(float("nan"), "rows", 0, "run_seconds"), "run_seconds is nan"),
    "q1 above the median": (put(0.0031, "rows", 0, "run_seconds_q1"), "isn't between its quart"),
    "q3 below the median": (put(0.0029, "rows", 0, "run_seconds_q3"), "isn't between its quart"),
    "no repetition": (put(0, "rows", 0, "run_seconds_n"), "the median of 0 repetitions"),
    "a lost quartile": (drop("run_seconds_q3", "rows", 0), "run_seconds_n some are missing"),
    "a busy machine": (put(0.0083, "rows", 0, "run_seconds_q3"), "was the machine busy?"),
    "another machine": (put("NVIDIA A100-SXM4-80GB", "machine", "gpus", 0, "name"), "belongs into"),
    "a path in a row": (put("/home/me/x.py", "rows", 0, "what"), "holds a path of a machine"),
    "a path in a message": (put(["a: (in /home/ann/x.py)"], "left_out"), "'/home/ann/x.py'"),
    "a path of Windows": (put("C:\\Users\\me", "rows", 0, "what"), "holds a path of a machine"),
    "a user at a host": (put("me@node7.edu", "machine", "processor"), "holds an address"),
    "a host's address": (put(["no route to 10.1.2.3"], "left_out"), "'10.1.2.3'"),
}


@pytest.mark.parametrize("change, says", FORGED.values(), ids=FORGED)
def test_a_planted_error_is_objected_to_with_file_and_row(keep, change, says):
    (objection, *_) = found = judge(forge(keep(), change))
    assert any(says in objection for objection in found), found
    assert objection.startswith(f"h200-x1/{CHAPTER}/speed.json: ")


def test_an_edited_row_shows_in_the_checksum(keep):
    path = keep()
    path.write_text(path.read_text().replace("0.003", "0.0031"))
    assert any("its checksum differs" in objection for objection in judge(path))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\x00", '{"rows": [7]}'])
def test_what_is_no_recording_is_one_objection_or_more_and_no_error(keep, text):
    path = keep()
    path.write_text(text)
    assert judge(path)


def test_a_column_that_every_row_lacks_is_one_objection(keep):
    path = keep("speed", [{"what": name, "run_seconds": 1.0} for name in "abc"])
    forge(path, lambda content: [row.pop("what") for row in content["rows"]])
    (objection,) = judge(path)
    assert objection.endswith("row 1 and 2 more: column what is missing")


def test_a_time_in_a_unit_of_its_own_is_objected_to(keep):
    (objection,) = judge(keep("old_units", [{"what": "a", "run_ms": 3.0}]))
    assert "column run_ms: a time is in _seconds" in objection


def test_every_experiment_declares_its_units_by_the_rules():
    from course_utils.judging.judge import OTHER_UNITS

    declared = json.loads((files.ROOT / "data/experiments.json").read_text())
    columns = {c for chapter in declared.values() for e in chapter.values() for c in e["columns"]}
    assert [column for column in columns if OTHER_UNITS.search(column)] == []


@pytest.mark.parametrize("folder", ["h100-x1/02_async_execution", "h200-x1/01_your_machine"])
def test_a_file_in_the_folder_of_another_machine_or_chapter_is_objected_to(keep, folder):
    path, recorded = keep(), files.RECORDED
    other = recorded / folder / path.name
    other.parent.mkdir(parents=True, exist_ok=True)
    path.rename(other)
    (objection,) = judge(other)
    assert f"belongs into h200-x1/{CHAPTER}/speed.json" in objection


@pytest.fixture
def snapshot(keep):
    """A recording that names a snapshot beside it, and the path of that."""

    def kept(content=b"", digest=None, name=None):
        beside = files.RECORDED / "h200-x1" / CHAPTER / "snapshot.pickle"
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content or pickle.dumps({"segments": []}, 4))
        digest = digest or hashlib.sha256(beside.read_bytes()).hexdigest()
        named = name or f"h200-x1/{CHAPTER}/snapshot.pickle"
        return keep("snapshot", [{"file": named, "file_sha256": digest}]), beside

    return kept


def test_a_snapshot_stands_beside_its_recording(snapshot):
    path, beside = snapshot()
    assert judge(path) == [] and offering.verdict(files.RECORDED) == (
        ["1 file, no objection"],
        False,
    )
    beside.unlink()
    assert "isn't a file beside this one" in judge(path)[0]


@pytest.mark.parametrize(
    "made, says",
    [
        ({"digest": "0" * 64}, "isn't what was recorded"),
        ({"name": "../experiments.json"}, "isn't a file beside this one"),
        ({"content": pickle.dumps({"filename": "/home/me/train.py"}, 4)}, "holds a path"),
        ({"content": pickle.dumps(Path, 4)}, "can't be opened: it asks for"),
    ],
    ids=["another file", "elsewhere", "a path", "a program"],
)
def test_a_snapshot_that_is_another_is_objected_to(snapshot, made, says):
    path, _ = snapshot(**made)
    assert says in judge(path)[0]
