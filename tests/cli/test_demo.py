"""In front of a class: rehearsal, and a chapter that opens with what is stored at hand."""

import subprocess
from pathlib import Path

from course_utils.__main__ import main
from course_utils.cli import demo
from course_utils.core import files
from course_utils.lesson import page
from tests.support.written import notebook


def test_a_rehearsal_names_what_is_slow_what_failed_and_what_is_not_live(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "SLOW_SECONDS", 2)  # a busy machine takes one for 1 / 0
    path = notebook(
        tmp_path / "n.ipynb",
        ("import time; time.sleep(2.2)",),
        ("1 / 0",),
        ("print('– a GPU is quick: not tested here (a GPU is needed; no recording)')",),
    )
    before = path.read_bytes()
    report = demo.report(demo.rehearse(path))
    assert report.count("Slow in front of a class: ") == 1
    assert "Slow in front of a class: cell 1, " in report
    assert "✗ cell 2 failed: ZeroDivisionError" in report
    assert "Not live here: a GPU is quick" in report
    assert "in all" in report and path.read_bytes() == before


def test_what_is_stored_for_a_class_is_a_copy_below_build(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "STORED", tmp_path / "demo")
    chapter = files.chapter_path("02")
    assert demo.keep_stored(chapter).read_bytes() == chapter.read_bytes()


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
    assert opened["line"][-4:] == [
        "06_floating_point_formats.ipynb", "--no-browser", "--port", "9000"
    ]  # fmt: skip
    assert opened["cwd"] == files.NOTEBOOKS
    stored = Path(opened["env"][page.DEMO])
    assert stored.parent == tmp_path / "demo" and stored.exists()
