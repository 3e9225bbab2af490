"""`make new`: a chapter that passes its tests at once, whole or not at all, and can be undone."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from course_utils.core.files import ROOT
from tools.new import __main__ as new
from tools.new.tree import Change, NewError, write

STEM, TITLE = "08_quantization", "Quantization, by hand"
PAGE = f"notebooks/{STEM}.ipynb"
DOOR = "course_utils/chapters/quantization/__init__.py"
OWN = "course_utils/chapters/quantization/graph.py"
TESTED = """
from tools import notebook_style
from tools.test import CONDITIONS, one_chapter, run
chosen = one_chapter("08")
chosen.library = ["tests/test_house.py", *chosen.library]
chosen.chapters = [path for path in chosen.chapters if not path.startswith(CONDITIONS)]
print([notebook_style.problems(path) for path in notebook_style.notebooks("08")])
print(run(chosen, []))
"""


@pytest.fixture
def course(tmp_path):
    """A copy of the project, to make chapters in."""
    ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    for name in ("course_utils", "data", "docs", "notebooks", "tests", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture
def not_run(monkeypatch):
    """Pages are made without being run: for what has nothing to do with their outputs."""
    monkeypatch.setattr(new, "run_pages", lambda root, stem, texts: {})


def everything_in(course):
    """Every file and its bytes, every folder; without what Python and the tests leave."""
    return {
        path.relative_to(course).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in course.rglob("*")
        if not {"__pycache__", "build", ".pytest_cache"} & set(path.parts)
    }


def in_the_copy(course, *command, **environment):
    own = {**os.environ, "PYTHONPATH": str(course), "WORKERS": "0", **environment}
    command = [sys.executable, *command]
    return subprocess.run(command, cwd=course, env=own, capture_output=True, text=True)


@pytest.mark.timed
def test_a_new_chapter_passes_its_tests_at_once_and_goes_without_a_trace(course):
    before = everything_in(course)
    made = in_the_copy(course, "-m", "tools.new", CHAPTER=STEM, TITLE=TITLE)
    assert made.returncode == 0, made.stderr
    assert f"new: {PAGE}" in made.stdout and f"new: {DOOR}" in made.stdout
    for command in (("check", "--no-cache"), ("format", "--check", "--no-cache")):
        styled = in_the_copy(course, "-m", "ruff", *command, "course_utils", "tests")
        assert styled.returncode == 0, styled.stdout
    tested = in_the_copy(course, "-c", TESTED)
    assert tested.stdout.startswith("['', '']"), tested.stdout
    assert tested.stdout.rstrip().endswith("True"), tested.stdout + tested.stderr
    assert f"{STEM} " in tested.stdout and "7/7" in tested.stdout
    gone = in_the_copy(course, "-m", "tools.new", CHAPTER=STEM, REMOVE="1")
    assert gone.returncode == 0 and f"removed: {PAGE}" in gone.stdout
    assert everything_in(course) == before
    assert not (course / "build" / "new").exists()


def test_its_lines_stand_where_its_number_belongs(course, not_run):
    before = everything_in(course)
    new.make(course, STEM, TITLE)
    for name in ("experiments", "recording_plan"):
        chapters = list(json.loads((course / "data" / f"{name}.json").read_text()))
        assert chapters == sorted(chapters) and STEM in chapters
    rows = [row for row in (course / "README.md").read_text().splitlines() if "](notebooks/" in row]
    listed = [row for row in rows if row[:4] in ("| [0", "| [1")]
    assert listed == sorted(listed) and sum(STEM in row for row in listed) == 1
    new.remove(course, STEM)
    assert everything_in(course) == before


@pytest.mark.parametrize(
    "path, worked_on",
    [
        (PAGE, PAGE),
        (DOOR, DOOR),
        (OWN, OWN),
        ("README.md", "the chapter's lines in README.md"),
    ],
    ids=["a page", "a module", "a new file", "its row"],
)
def test_what_somebody_has_worked_on_is_not_removed(course, not_run, path, worked_on):
    new.make(course, STEM, TITLE)
    text = (course / path).read_text() if (course / path).exists() else ""
    (course / path).write_text(text.replace("| … | 10 |", "| read a trace | 50 |") + "\n")
    before = everything_in(course)
    with pytest.raises(NewError, match="Nothing is removed: somebody has worked on ") as refused:
        new.remove(course, STEM)
    assert worked_on in str(refused.value)
    assert everything_in(course) == before


def test_what_changed_beside_it_stays_and_files_that_are_gone_are_no_hindrance(course, not_run):
    new.make(course, STEM, TITLE)
    (course / PAGE).unlink()
    with (course / "README.md").open("a") as readme:
        readme.write("A line of somebody's.\n")
    (course / new.INDEX).write_text("{}")
    said = new.remove(course, STEM)
    readme = (course / "README.md").read_text()
    assert readme.endswith("A line of somebody's.\n") and STEM not in readme
    assert (course / new.INDEX).read_text() == "{}" and "make normalise ARGS=00" in said


@pytest.mark.parametrize(
    "chapter, title, said",
    [
        ("", TITLE, "Which chapter? Two digits and a name_in_small_letters, as in make new "),
        ("4_trading", TITLE, "Which chapter?"),
        ("10-Trading", TITLE, "Which chapter?"),
        ("../08_quantization", TITLE, "Which chapter?"),
        ("08_tracing", TITLE, "Chapter 08 is 08_quantization by data/course.json."),
        ("15_serving", TITLE, "No chapter 15 stands in data/course.json. Give it a row there"),
        ("06_floating_point_formats", TITLE, "06_floating_point_formats is there already: noteb"),
        (STEM, "", 'Which title? A line without quotes, brackets, | or $, as in make new CHAPTER'),
        (STEM, 'The "best" one', "Which title?"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_a_sentence_and_changes_nothing(course, chapter, title, said):
    before = everything_in(course)
    with pytest.raises(NewError) as refused:
        new.make(course, chapter, title)
    assert str(refused.value).startswith(said)
    assert everything_in(course) == before


def test_what_was_never_made_is_not_removed(course):
    with pytest.raises(NewError, match=f"Nothing is removed: that {STEM} was made here isn't"):
        new.remove(course, STEM)


def test_an_error_while_writing_leaves_nothing_half_made(tmp_path):
    (tmp_path / "there.txt").write_text("as it was")
    texts = {"new/one.txt": "1", "there.txt": "changed", "there.txt/below": "cannot be"}
    before = everything_in(tmp_path)
    with pytest.raises(OSError):
        write(tmp_path, tmp_path / "build" / "note.json", Change(), texts)
    assert everything_in(tmp_path) == before
