"""Recording row by row: what is kept, what is gone on with, what a failure and a deadline cost."""

import json
import time

import pytest

from course_utils import record_each, recorded
from course_utils.core import evidence
from course_utils.core import recording as keeping

pytestmark = pytest.mark.without_torch

CASES = [{"what": name} for name in "abc"]


@pytest.fixture(autouse=True)
def _on_a_gpu(recording, fake_machine, monkeypatch):
    fake_machine(gpus=1)
    monkeypatch.setattr(keeping, "code_of", lambda *_: "c0de")


def content(folder):
    (path,) = folder.glob("*/02_async_execution/speed.json")
    return json.loads(path.read_text())


def test_each_row_is_on_disk_before_the_next_is_measured(recording):
    seen = []

    def measure(case):
        seen.append(len(recorded("speed").rows) if case["what"] != "a" else 0)
        return {"run_seconds": 1.0}

    assert len(record_each("speed", CASES, measure)) == 3
    assert seen == [0, 1, 2]
    assert content(recording)["missing_rows"] == 0


def test_a_row_that_fails_costs_that_row_only_and_is_named(recording, capsys):
    def measure(case):
        if case["what"] == "b":
            raise RuntimeError("out of memory\nand more")
        return {"run_seconds": 1.0}

    rows = record_each("speed", CASES, measure)
    assert [row["what"] for row in rows] == ["a", "c"]
    assert capsys.readouterr().out == "– what b: left out (RuntimeError: out of memory)\n"
    assert content(recording)["left_out"] == ["what b: left out (RuntimeError: out of memory)"]


def test_what_is_kept_of_a_failure_names_no_folder_of_the_machine(recording, capsys):
    def measure(case):
        raise RuntimeError("cannot open /home/ann/course/kernel.cu")

    record_each("speed", CASES[:1], measure)
    assert content(recording)["left_out"] == [
        "what a: left out (RuntimeError: cannot open …/kernel.cu)"
    ]
    assert "/home" not in capsys.readouterr().out


def interrupted(case):
    if case["what"] == "c":
        raise KeyboardInterrupt
    return {"run_seconds": 1.0}


def test_an_interrupted_recording_is_gone_on_with_where_it_stopped(recording):
    with pytest.raises(KeyboardInterrupt):
        record_each("speed", CASES, interrupted)
    assert content(recording)["missing_rows"] == 1
    measured = []
    rows = record_each("speed", CASES, lambda case: measured.append(case) or {"run_seconds": 2.0})
    assert measured == [{"what": "c"}]
    assert [row["run_seconds"] for row in rows] == [1.0, 1.0, 2.0]
    assert content(recording)["missing_rows"] == 0


@pytest.mark.parametrize("change", ["code", "versions"])
def test_rows_of_other_code_or_versions_are_measured_again(
    recording, fake_machine, change, monkeypatch
):
    record_each("speed", CASES, lambda case: {"run_seconds": 1.0})
    if change == "code":
        monkeypatch.setattr(keeping, "code_of", lambda *_: "0ther")
    else:
        newer = keeping.this_machine()
        newer.versions["torch"] = "2.13.0"
    rows = record_each("speed", CASES, lambda case: {"run_seconds": 2.0})
    assert [row["run_seconds"] for row in rows] == [2.0] * 3


def test_no_row_is_begun_that_would_end_after_the_time_is_up(recording, capsys, monkeypatch):
    monkeypatch.setenv(keeping.DEADLINE, str(time.time() + 0.5))

    def measure(case):
        time.sleep(0.3)
        return {"run_seconds": 0.3}

    assert len(record_each("speed", CASES, measure)) == 1
    assert "Time is up: 1 of 3 rows of speed are done." in capsys.readouterr().out
    assert content(recording)["missing_rows"] == 2


def test_without_recording_every_row_is_measured_and_nothing_is_written(recording, monkeypatch):
    monkeypatch.delenv(keeping.RECORD_TO)
    assert len(record_each("speed", CASES, lambda case: {"run_seconds": 1.0})) == 3
    assert not list(recording.glob("**/*.json"))


def test_wrong_columns_are_an_error_and_no_missing_row(recording):
    with pytest.raises(evidence.EvidenceError, match="declares the columns"):
        record_each("speed", CASES, lambda case: {"ms": 1.0})
