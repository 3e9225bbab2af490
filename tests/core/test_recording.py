"""Recording row by row: what is kept, what is gone on with, what a failure and a deadline cost."""

import json
from types import SimpleNamespace

import pytest

from course_utils import record_each, recorded
from course_utils.core import evidence, files
from course_utils.core import recording as keeping

pytestmark = pytest.mark.without_torch

CASES = [{"what": name} for name in "abc"]


@pytest.fixture(autouse=True)
def _on_a_gpu(recording, fake_machine):
    fake_machine(gpus=1)


def content(folder):
    (path,) = folder.glob("*/02_async_execution/speed.json")
    return json.loads(path.read_text())


def test_each_row_is_on_disk_before_the_next_is_measured(recording):
    seen = []

    def measure(case):
        seen.append(len(recorded("speed").rows) if case["what"] != "a" else 0)
        return {"run_seconds": 1.0}

    assert len(record_each("speed", CASES, measure)) == 3
    assert seen == [0, 1, 2] and content(recording)["missing_rows"] == 0


def test_a_row_that_fails_costs_that_row_only_and_is_named_without_a_folder(recording, capsys):
    def measure(case):
        if case["what"] == "b":
            raise RuntimeError("cannot open /home/ann/course/kernel.cu\nand more")
        return {"run_seconds": 1.0}

    rows = record_each("speed", CASES, measure)
    said = "what b: left out (RuntimeError: cannot open …/kernel.cu)"
    assert [row["what"] for row in rows] == ["a", "c"]
    assert capsys.readouterr().out == f"– {said}\n" and content(recording)["left_out"] == [said]


def test_an_interrupted_recording_is_gone_on_with_where_it_stopped(recording):
    def interrupted(case):
        if case["what"] == "c":
            raise KeyboardInterrupt
        return {"run_seconds": 1.0}

    with pytest.raises(KeyboardInterrupt):
        record_each("speed", CASES, interrupted)
    assert content(recording)["missing_rows"] == 1
    rows = record_each("speed", CASES, lambda case: {"run_seconds": 2.0})
    assert [row["run_seconds"] for row in rows] == [1.0, 1.0, 2.0]
    assert content(recording)["missing_rows"] == 0


@pytest.mark.parametrize("change", ["page", "versions"])
def test_rows_of_another_page_or_other_versions_are_measured_again(change, monkeypatch):
    record_each("speed", CASES, lambda case: {"run_seconds": 1.0})
    if change == "page":
        monkeypatch.setattr(keeping, "code_of", lambda *_: "page:0ther")
    else:
        keeping.this_machine().versions["torch"] = "2.13.0"
    rows = record_each("speed", CASES, lambda case: {"run_seconds": 2.0})
    assert [row["run_seconds"] for row in rows] == [2.0] * 3


def test_no_row_is_begun_that_would_end_after_the_time_is_up(recording, capsys, monkeypatch):
    now = [100.0]
    clock = SimpleNamespace(time=lambda: now[0], perf_counter=lambda: now[0])
    monkeypatch.setattr(keeping, "time", clock)
    monkeypatch.setenv(keeping.DEADLINE, "125")

    def measure(case):
        now[0] += 10
        return {"run_seconds": 10.0}

    assert len(record_each("speed", CASES, measure)) == 2
    assert "Time is up: 2 of 3 rows of speed are done." in capsys.readouterr().out
    assert content(recording)["missing_rows"] == 1


def test_without_recording_every_row_is_measured_and_nothing_is_written(recording, monkeypatch):
    monkeypatch.delenv(keeping.RECORD_TO)
    assert len(record_each("speed", CASES, lambda case: {"run_seconds": 1.0})) == 3
    assert not list(recording.glob("**/*.json"))


def test_wrong_columns_are_an_error_and_no_missing_row():
    with pytest.raises(evidence.EvidenceError, match="declares the columns"):
        record_each("speed", CASES, lambda case: {"ms": 1.0})


def test_a_recording_is_older_than_its_page_when_code_there_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "chapter_path", lambda _: tmp_path / "page.ipynb")

    def code(work="n = 3", text="Why", guess="..."):
        cells = [
            {"id": "why", "cell_type": "markdown", "source": text},
            {"id": "work", "cell_type": "code", "source": [f"{work}\n", "    record('speed', n)"]},
            {"id": "predict-n", "cell_type": "code", "source": f"predict('n', {guess})"},
            {"id": "exercise-1", "cell_type": "code", "source": guess},
        ]
        (tmp_path / "page.ipynb").write_text(json.dumps({"cells": cells}))
        keeping.code_of.cache_clear()
        return keeping.code_of("02")

    same = [code(), code("# three\n\nn = 3  "), code(text="Because"), code(guess="7")]
    assert len(set(same)) == 1 and len({same[0], code("n = 4"), code("n = 3\nn += 1")}) == 3
