"""In front of a class: rehearsal, and a chapter that opens with what is stored at hand."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from course_utils.__main__ import main
from course_utils.cli import demo
from course_utils.core import files
from course_utils.lesson import page
from tests.support.written import notebook


@pytest.mark.thorough("course_utils/cli")
def test_a_rehearsal_names_what_is_slow_what_failed_and_what_is_not_live(tmp_path):
    path = notebook(
        tmp_path / "n.ipynb",
        ("import time; time.sleep(0.2)",),
        ("1 / 0",),
        ("print('– a GPU is quick: not tested here (a GPU is needed; no recording)')",),
    )
    before = path.read_bytes()
    slow, failed, silent = demo.rehearse(path)
    assert slow.seconds >= 0.2 and path.read_bytes() == before
    report = demo.report([replace(slow, seconds=6), replace(failed, seconds=5), silent])
    assert report.count("Slow in front of a class: ") == 1
    assert "Slow in front of a class: cell 1, 6 s" in report
    assert "✗ cell 2 failed: ZeroDivisionError" in report
    assert "Not live here: a GPU is quick" in report and "in all" in report


def test_the_chapter_opens_with_what_is_stored_at_hand_and_jupyterlabs_options(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(demo, "STORED", tmp_path / "demo")
    monkeypatch.setattr(demo, "rehearse", lambda path: [])
    monkeypatch.setattr("course_utils.cli.doctor.examine", lambda: [])
    opened = {}
    finished = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(
        demo.subprocess, "run", lambda command, **how: opened.update(how, line=command) or finished
    )
    assert main(["demo", "06", "--no-browser", "--port", "9000"]) == 0
    chapter = files.chapter_path("06")
    assert opened["line"][-4:] == [chapter.name, "--no-browser", "--port", "9000"]
    assert opened["cwd"] == files.NOTEBOOKS
    stored = Path(opened["env"][page.DEMO])
    assert stored.parent == tmp_path / "demo" and stored.read_bytes() == chapter.read_bytes()
