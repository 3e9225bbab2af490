"""`make new`: a chapter that passes its tests at once, and can be taken away again."""

import os
import shutil
import subprocess
import sys

import pytest

from course_utils.core.files import ROOT
from tools.new import __main__ as new

pytestmark = pytest.mark.thorough("tools/new", "course_utils/lesson")
STEM, TITLE = "19_a_new_one", "A new one, by hand"
LAST = '"title": "Your own run", "after": ["12"]}'  # the copy's plan gets one more row after it
TESTS = ("tests/test_house.py", "tests/pages", f"notebooks/{STEM}.ipynb")
NOT_OF_IT = [f"--ignore=tests/pages/{folder}" for folder in ("conditions", "rehearsal")]


@pytest.fixture
def course(tmp_path):
    """A copy of the project, to make chapters in."""
    ignored = shutil.ignore_patterns("__pycache__", ".*", "build")
    shutil.copytree(ROOT, tmp_path / "course", ignore=ignored)
    shutil.copy(ROOT / "notebooks" / ".ruff.toml", tmp_path / "course" / "notebooks")
    plan = tmp_path / "course" / "data" / "course.json"
    row = f',\n  {{"file": "{STEM}", "title": "A new one", "after": ["12"]}}'
    plan.write_text(plan.read_text().replace(LAST, LAST + row))
    return tmp_path / "course"


def everything_in(course):
    """Every file and its bytes; without what Python and the tests leave."""
    left = {"__pycache__", "build", ".pytest_cache", ".ruff_cache"}
    found = (path for path in course.rglob("*") if path.is_file() and not left & {*path.parts})
    return {path.relative_to(course).as_posix(): path.read_bytes() for path in found}


def run(course, *command, **environment):
    path = os.pathsep.join(map(str, [course, *course.glob("packages/*")]))
    own = {**os.environ, "PYTHONPATH": path, **environment}
    command = [sys.executable, "-m", *command]
    done = subprocess.run(command, cwd=course, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_chapter_passes_its_tests_at_once_and_goes_without_a_trace(course):
    before = everything_in(course)
    assert f"notebooks/{STEM}.ipynb" in run(course, "tools.new", CHAPTER=STEM, TITLE=TITLE)
    for command in ("check", "format --check"):
        own = [f"{folder}/chapters/a_new_one" for folder in ("course_utils", "tests")]
        run(course, "ruff", *command.split(), *own)
    run(course, "tools.notebook_style", "19")
    nbval = ("--nbval", "--nbval-sanitize-with", "tests/sanitise.cfg", "--only-chapters", STEM)
    run(course, "pytest", "-p", "no:cacheprovider", *nbval, *NOT_OF_IT, *TESTS)
    assert "Removed: " in run(course, "tools.new", CHAPTER=STEM, REMOVE="1")
    assert everything_in(course) == before


def test_what_somebody_has_worked_on_is_not_removed_and_what_cannot_be_made_changes_nothing(
    course, monkeypatch
):
    monkeypatch.setattr(new, "run_pages", lambda root, stem, texts: {})
    for stem, said in [
        ("4_x", "Which chapter"),
        ("15_x", "not in"),
        ("06_floating_point_formats", "is there"),
    ]:
        before = everything_in(course)
        with pytest.raises(new.NewError, match=said):
            new.make(course, stem, TITLE)
        assert everything_in(course) == before
    new.make(course, STEM, TITLE)
    for worked_on in (
        "README.md",
        f"notebooks/{STEM}.ipynb",
        "tests/chapters/a_new_one/new.py",
    ):
        path = course / worked_on
        text = path.read_text() if path.exists() else "own"
        path.write_text(text.replace("| … | 10 |", "| read a trace | 50 |") + "\n")
        with pytest.raises(new.NewError, match=f"worked on .*{worked_on}"):
            new.remove(course, STEM)
