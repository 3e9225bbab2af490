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


def test_a_right_answer_is_kept_and_shown_and_forgotten_and_a_wrong_one_is_not(
    kept, monkeypatch, capsys
):
    verdicts = iter([False, True, True])
    monkeypatch.setattr(
        exercises, "grade", lambda name, answer: exercises.Verdict(next(verdicts), "said")
    )
    exercises.check("collectives.ring", len)
    assert not kept.exists()
    exercises.check("collectives.ring", len)
    exercises.check("collectives.ring", len)
    assert json.loads(kept.read_text())["passed"] == ["collectives.ring"]
    assert main(["progress"]) == 0
    said = capsys.readouterr().out
    assert "… 11 · Collectives" in said and "1 of 3 exercises" in said
    assert "Nothing leaves this machine" in said
    assert main(["progress", "--clear"]) == 0
    assert os.listdir(kept.parent) == []


def test_a_chapter_is_run_when_every_cell_before_its_exercises_was(kept):
    chapter = next(c for c in catalog.chapters() if c.stem == FORMATS)
    *most, last = chapter.cells_before_the_exercises()
    for cell in most:
        progress.ran_cell(FORMATS, cell)
    assert not progress.is_run(progress.read(), chapter)
    progress.ran_cell(FORMATS, last)
    assert progress.is_run(progress.read(), chapter)


@pytest.mark.thorough("course_utils/lesson/page.py", "course_utils/lesson/progress.py")
def test_cells_that_ran_in_a_kernel_are_kept_and_those_that_failed_are_not(kept, tmp_path):
    wanted = {c["id"]: c["source"] for c in catalog.code_cells(files.chapter_path("06"))}
    sources = [wanted["setup"], wanted["by-hand"], "del FP16", wanted["all-formats"], "1 + 1"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    path = tmp_path / "copy.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    _, failed = notebooks.run(path, stop_at_error=False)
    assert len(failed) == 1
    assert progress.read().cells == {FORMATS: ["by-hand", "setup"]}


def test_two_kernels_at_once_lose_nothing(kept):
    code = (
        "import sys; from course_utils.lesson import progress; progress.WAIT_SECONDS = 300\n"
        "print(flush=True); sys.stdin.readline()\n"  # both have begun
        "for i in range(30): progress.ran_cell('02', f'{sys.argv[1]}{i}')"
    )
    how = {"cwd": files.ROOT, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    running = [subprocess.Popen([sys.executable, "-c", code, name], **how) for name in "ab"]
    for one in running:
        one.stdout.readline()
    for one in running:
        one.stdin.write(b"\n")
        one.stdin.flush()
    for one in running:
        one.communicate(timeout=300)
    assert len(progress.read().cells["02"]) == 60


def test_a_lock_that_nobody_gives_back_holds_no_cell_up(kept, monkeypatch):
    monkeypatch.setattr(progress, "WAIT_SECONDS", 0.1)
    with FileLock(kept.with_suffix(".lock")):
        answer = threading.Thread(target=progress.passed, args=("x.y",), daemon=True)
        answer.start()
        answer.join(timeout=60)
        assert not answer.is_alive()
    assert progress.read().passed == []


NO_GUESS = '{"cells": {}, "passed": ["a.b"], "predicted": [7]}'


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cells": 3, "passed": []}', '{"passed": []}', NO_GUESS]
)
def test_a_broken_file_counts_as_none_and_is_replaced(kept, text):
    kept.write_text(text)
    assert progress.read() == progress.Kept()
    progress.passed("a.b")
    assert json.loads(kept.read_text())["passed"] == ["a.b"]


def test_where_nothing_can_be_kept_or_nobody_reads_nothing_is_and_it_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(progress.FILE, str(tmp_path / "file" / "progress.json"))
    progress.passed("a.b")
    assert "can't be written here, so progress isn't kept" in progress.report()
    monkeypatch.delenv(progress.FILE)
    monkeypatch.setattr(files, "ROOT", tmp_path)
    progress.passed("a.b")
    assert os.listdir(tmp_path) == ["file"]
    assert "a run without a reader" in progress.report()


def test_the_first_guess_stands_also_in_a_file_of_before_there_were_predictions(kept):
    kept.write_text('{"cells": {"02": ["a"]}, "passed": ["c.d"]}')
    progress.predicted("async.launch", near=False)
    progress.predicted("async.launch", near=True)
    found = json.loads(kept.read_text())
    assert (found["cells"], found["passed"]) == ({"02": ["a"]}, ["c.d"])
    assert found["predicted"] == [{"id": "async.launch", "near": False}]
