"""`make test`: what it chooses to run, in which order, and what a broken run says."""

import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest

import conftest
from course_utils.core.files import NOTEBOOKS, ROOT, SOLUTIONS
from tools import test as tool

FORMATS = "06_floating_point_formats"


def test_a_chapter_alone_is_its_page_its_exercises_and_its_own_rooms():
    chosen = tool.one_chapter("06")
    assert (
        chosen.stems == [FORMATS]
        and "tests/chapters/floating_point_formats/test_formats.py" in chosen.library
    )
    assert f"notebooks/{FORMATS}.ipynb" in chosen.chapters
    assert not any("tests/ranks/" in path or "11_" in path for path in chosen.library)


def test_of_tests_about_every_chapter_only_the_named_ones_are_collected():
    only = ["--only-chapters", FORMATS, "--collect-only", "-q"]
    tests = ["tests/pages/test_structure.py", "tests/pages/test_answers.py"]
    command = [sys.executable, "-m", "pytest", *only, *tests]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    assert "formats.kahan" in said or "test_answers.py: " in said
    assert "collectives.ring" not in said and "11_collectives" not in said


def test_what_cannot_be_chosen_is_a_sentence():
    for chosen, said in (
        ({"CHAPTER": "99"}, "No single chapter is called '99'. There are: "),
        ({"CHANGED": "no-such-commit"}, "CHANGED=no-such-commit can't be compared: "),
        ({"CHANGED": "1", "CHAPTER": "06"}, "CHAPTER or CHANGED, not both"),
    ):
        own = {**os.environ, "CHAPTER": "", "CHANGED": "", **chosen}
        command = [sys.executable, "-m", "tools.test"]
        done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout.startswith(said) and not done.stderr


BROKEN = {
    "setup": "from course_utils import claim, compare_bars, start\nstart('06')",
    "false-claim": "claim('two-over-three', 'two is more than three', 2 > 3)",
    "wrong-output": "print(1 + 1)",
    "missing-figure": "compare_bars = print\ncompare_bars('a figure that nobody drew')",
    "deprecated-call": "import warnings\nwarnings.warn('old', DeprecationWarning)",
}


@pytest.fixture
def broken_course(tmp_path):
    """A copy of the project whose only chapter has four faults, one a cell."""
    for folder in ("course_utils", "tests", "tools", "data"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    for name in ("README.md", "conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    cells = [nbformat.v4.new_code_cell(source, id=name) for name, source in BROKEN.items()]
    for number, cell in enumerate(cells, 1):
        cell.execution_count = number
    stored = {"false-claim": "✓ two is more than three\n", "wrong-output": "3\n"}
    for cell in cells:
        if cell.id in stored:
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=stored[cell.id])]
    said = (NOTEBOOKS / f"{FORMATS}.ipynb").read_text()
    cells[0].outputs = nbformat.reads(said, 4).cells[1].outputs
    for folder in (NOTEBOOKS, SOLUTIONS):
        path = tmp_path / folder.relative_to(ROOT) / f"{FORMATS}.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return tmp_path


def in_the_course(course, library, chapters, stems):
    """What `make test` prints there of such a selection; its last line is whether all passed."""
    chosen = f"Selection({library!r}, {chapters!r}, {stems!r})"
    program = f"from tools.test import Selection, run\nprint(run({chosen}, []))"
    own = {**os.environ, "PYTHONPATH": str(course), "WORKERS": "0"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=course, env=own, capture_output=True, text=True)


def test_a_page_that_fails_once_is_run_again_and_the_report_says_so(broken_course):
    page = broken_course / "notebooks" / f"{FORMATS}.ipynb"
    once = "import pathlib\nmark = pathlib.Path('mark')\nassert mark.exists() or mark.touch()"
    cells = [nbformat.v4.new_code_cell(text, id=f"c{n}") for n, text in enumerate(["1", once])]
    for cell in cells:
        cell.execution_count, cell.outputs = 1, []
    cells[0].source = "one = 1"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), page)
    done = in_the_course(broken_course, [], [f"notebooks/{FORMATS}.ipynb"], [])
    assert done.stdout.rstrip().endswith("True"), done.stdout + done.stderr
    assert f"– {FORMATS}, passed when run again: Cell 1: AssertionError" in done.stdout
    kept = json.loads((broken_course / "build" / "report.json").read_text())
    assert kept["passed"] is True and kept["chapters"][FORMATS]["passed_again"]


def test_a_test_of_the_library_that_fails_once_is_run_again_and_the_report_says_so(broken_course):
    once = "import pathlib\n\ndef test_once():\n    mark = pathlib.Path('mark')\n"
    path = broken_course / "tests" / "tools" / "test_once.py"
    path.write_text(once + "    assert mark.exists() or mark.touch()\n")
    done = in_the_course(broken_course, ["tests/tools/test_once.py"], [], [])
    assert done.stdout.rstrip().endswith("True"), done.stdout + done.stderr
    assert "– tests.tools.test_once::test_once, passed when run again: " in done.stdout
    path.write_text("def test_never():\n    assert not 1\n")
    done = in_the_course(broken_course, ["tests/tools/test_once.py"], [], [])
    assert done.stdout.rstrip().endswith("False"), done.stdout + done.stderr


UNDECIDED = """from course_utils.core.measurement import Measurement
busy = Measurement((1.0,), 9, 1.24, "host")
claim("two-over-three", "two is more than three", 2 > 3, timed=busy)"""


def test_a_claim_that_was_not_decided_is_reported_and_its_page_passes_at_once(broken_course):
    page = broken_course / "notebooks" / f"{FORMATS}.ipynb"
    notebook = nbformat.read(page, 4)
    notebook.cells = notebook.cells[:2]
    notebook.cells[1].source = UNDECIDED
    nbformat.write(notebook, page)
    done = in_the_course(broken_course, [], [f"notebooks/{FORMATS}.ipynb"], [])
    assert done.stdout.rstrip().endswith("True"), done.stdout + done.stderr
    assert "Again" not in done.stdout
    assert f"{FORMATS}.ipynb::Cell 1: two is more than three (not decided, other" in done.stdout
    assert f"– {FORMATS}, claim two-over-three not decided: two is more than" in done.stdout


def test_a_broken_run_names_each_fault_with_its_chapter(broken_course):
    tests, page = ["tests/pages/test_figures.py"], [f"notebooks/{FORMATS}.ipynb"]
    done = in_the_course(broken_course, tests, page, [FORMATS])
    assert done.stdout.rstrip().endswith("False"), done.stdout + done.stderr
    kept = json.loads((broken_course / "build" / "report.json").read_text())
    chapter = kept["chapters"][FORMATS]
    assert kept["passed"] is False
    assert chapter["claims_failed"] == {"two-over-three": "two is more than three"}
    named = "\n".join(chapter["failed"])
    assert "Cell 1: ClaimError: ✗ two is more than three" in named
    assert r"Cell 2: the stored output differs: '3\n' == '2\n'" in named
    assert "test_every_picture_that_a_page_draws_is_stored_whole" in named
    assert "Cell 4: DeprecationWarning: old" in named
    assert all(f"✗ {FORMATS}, {line}" in done.stdout for line in chapter["failed"])


def test_chapters_that_time_something_run_after_those_that_do_not():
    stems = ("02_async_execution", FORMATS, "12_data_parallelism", "09_memory_snapshots")
    items = [SimpleNamespace(path=NOTEBOOKS / f"{stem}.ipynb") for stem in stems]
    conftest.pytest_collection_modifyitems(SimpleNamespace(getoption=lambda _: ""), items)
    assert [item.path.stem[:2] for item in items] == ["06", "09", "02", "12"]
