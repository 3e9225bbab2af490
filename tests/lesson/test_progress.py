"""What a reader ran and solved: kept whole, by two kernels at once, only where somebody reads."""

import json
import os
import subprocess
import sys
import threading

import nbformat
import pytest
from filelock import FileLock

from course_utils.__main__ import main
from course_utils.cli import notebooks
from course_utils.core import files
from course_utils.lesson import catalog, exercises, progress

FORMATS = "06_floating_point_formats"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    monkeypatch.setenv(progress.FILE, str(path))
    return path


def test_a_right_answer_is_kept_and_shown_and_forgotten(kept, monkeypatch, capsys):
    right = exercises.Verdict(True, "right")
    monkeypatch.setattr(exercises, "grade", lambda name, answer: right)
    exercises.check("collectives.ring", len)
    exercises.check("collectives.ring", len)
    assert json.loads(kept.read_text())["passed"] == ["collectives.ring"]
    assert main(["progress"]) == 0
    said = capsys.readouterr().out
    assert "… 11 · Collectives" in said and "1 of 4 exercises" in said
    assert "Nothing leaves this machine" in said
    assert main(["progress", "--clear"]) == 0
    assert os.listdir(kept.parent) == []


def test_a_lock_that_nobody_gives_back_holds_no_cell_up(kept, monkeypatch):
    monkeypatch.setattr(progress, "WAIT_SECONDS", 0.1)
    with FileLock(kept.with_suffix(".lock")):
        answer = threading.Thread(target=progress.passed, args=("x.y",), daemon=True)
        answer.start()
        answer.join(timeout=30)
        assert not answer.is_alive()
    assert progress.read()["passed"] == []


def test_a_wrong_answer_is_not_kept(kept, monkeypatch):
    wrong = exercises.Verdict(False, "wrong")
    monkeypatch.setattr(exercises, "grade", lambda name, answer: wrong)
    exercises.check("collectives.ring", len)
    assert not kept.exists()


def test_a_chapter_is_run_when_every_cell_before_its_exercises_was(kept):
    chapter = next(c for c in catalog.written() if c.stem == FORMATS)
    *most, last = chapter.cells_before_the_exercises()
    for cell in most:
        progress.ran_cell(FORMATS, cell)
    assert not progress.is_run(progress.read(), chapter)
    progress.ran_cell(FORMATS, last)
    assert progress.is_run(progress.read(), chapter)


def test_two_kernels_at_once_lose_nothing(kept):
    code = (
        "import sys; from course_utils.lesson import progress\n"
        "for i in range(30): progress.ran_cell('02', f'{sys.argv[1]}{i}')"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, name], cwd=files.ROOT) for name in "ab"
    ]
    assert [one.wait(timeout=60) for one in running] == [0, 0]
    assert len(progress.read()["cells"]["02"]) == 60


BROKEN = ["", "{", "[]", '{"cells": 3, "passed": []}', '{"passed": []}']


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_counts_as_none_and_is_replaced(kept, text):
    kept.write_text(text)
    assert progress.read() == progress.nothing()
    progress.passed("a.b")
    assert json.loads(kept.read_text())["passed"] == ["a.b"]


def test_a_folder_that_cannot_be_written_keeps_nothing_and_says_so(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(progress.FILE, str(tmp_path / "file" / "progress.json"))
    progress.passed("a.b")
    assert "can't be written here, so progress isn't kept" in progress.report()


def test_a_run_without_a_reader_keeps_nothing(monkeypatch, tmp_path):
    monkeypatch.delenv(progress.FILE, raising=False)
    monkeypatch.setattr(files, "ROOT", tmp_path)
    progress.passed("a.b")
    assert os.listdir(tmp_path) == []
    assert "a run without a reader" in progress.report()


def test_cells_that_ran_in_a_kernel_are_kept_and_those_that_failed_are_not(kept, tmp_path):
    wanted = {c["id"]: c["source"] for c in catalog.code_cells(files.chapter_path("06"))}
    sources = [wanted["setup"], wanted["by-hand"], "del FP16", wanted["ulps"], "1 + 1"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    path = tmp_path / "copy.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    _, failed = notebooks.run(path, stop_at_error=False)
    assert len(failed) == 1
    assert progress.read()["cells"] == {FORMATS: ["by-hand", "setup"]}


def test_a_file_of_before_there_were_predictions_is_read_and_kept(kept):
    kept.write_text('{"cells": {"02": ["a"]}, "passed": ["c.d"]}')
    progress.predicted("async.launch", near=True, factor=1.5)
    found = progress.read()
    assert (found["cells"], found["passed"]) == ({"02": ["a"]}, ["c.d"])
    assert found["predicted"] == [{"id": "async.launch", "near": True, "factor": 1.5}]


def test_the_first_guess_stands(kept):
    progress.predicted("async.launch", near=False, factor=30.0)
    progress.predicted("async.launch", near=True, factor=1.0)
    assert [one["near"] for one in progress.read()["predicted"]] == [False]


@pytest.mark.parametrize("bad", ['{"id": "a.b", "near": 1, "factor": 0}', "7", '{"id": "a.b"}'])
def test_a_guess_that_cannot_be_read_is_dropped_and_nothing_else(kept, bad):
    good = '{"id": "c.d", "near": true, "factor": 1.5}'
    kept.write_text(f'{{"cells": {{}}, "passed": ["a.b"], "predicted": [{bad}, {good}]}}')
    found = progress.read()
    assert found["passed"] == ["a.b"] and [one["id"] for one in found["predicted"]] == ["c.d"]
