"""`make test`: what it chooses to run, in which order, and what a broken run says."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

import conftest
from course_utils.core.files import NOTEBOOKS, ROOT, SOLUTIONS
from tools import test as tool

FORMATS = "06_floating_point_formats"


def test_a_chapter_alone_is_its_page_its_exercises_and_its_own_rooms():
    chosen = tool.one_chapter("06")
    assert chosen.stems == [FORMATS] and not chosen.quick
    assert any(path.startswith("tests/chapters/floating_point_formats/") for path in chosen.targets)
    assert f"notebooks/{FORMATS}.ipynb" in chosen.targets
    assert not any("/notebook_ranks/" in path or "11_" in path for path in chosen.targets)


def test_a_changed_test_runs_for_every_chapter_even_where_a_page_changed_too(
    monkeypatch, capfd, tmp_path
):
    monkeypatch.setattr(tool, "BUILD", tmp_path)  # else this run would lose its own list
    page, test = f"notebooks/{FORMATS}.ipynb", "tests/pages/test_prose.py"
    monkeypatch.setattr(tool.affected, "reached_by", lambda changed: list(changed))
    for changed, stems in (([page], [FORMATS]), ([page, test], [])):
        monkeypatch.setattr(tool.affected, "changed_files", lambda _since, of=changed: of)
        assert tool.what_changed("1", quick=True).stems == stems
    monkeypatch.setattr(tool, "step", lambda *_command: tool.NO_TESTS)
    assert not tool.tested(tool.what_changed("1", quick=True), [])
    assert "No test was run" in capfd.readouterr().out


def test_of_tests_about_every_chapter_only_the_named_ones_are_collected():
    only = ["--only-chapters", FORMATS, "--collect-only", "-q"]
    tests = ["tests/pages/test_structure.py", "tests/pages/test_answers.py"]
    command = [sys.executable, "-m", "pytest", *only, *tests]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    assert "formats.stochastic" in said or "test_answers.py: " in said
    assert "collectives.ring" not in said and "11_collectives" not in said


def test_what_cannot_be_chosen_is_a_sentence():
    for chosen, said in (
        ({"CHAPTER": "99"}, "No single chapter is called '99'. There are: "),
        ({"CHANGED": "no-such-commit"}, "no-such-commit can't be compared: "),
        ({"CHANGED": "1", "CHAPTER": "06"}, "CHAPTER or CHANGED, not both"),
    ):
        own = {**os.environ, "CHAPTER": "", "CHANGED": "", **chosen}
        command = [sys.executable, "-m", "tools.test"]
        done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout.startswith(said) and not done.stderr


def item(nodeid, *marks, **params):
    """As much of a pytest item as the selection asks for."""
    return SimpleNamespace(
        nodeid=nodeid,
        path=ROOT / nodeid.partition("::")[0],
        callspec=SimpleNamespace(params=params),
        iter_markers=lambda name: [mark.mark for mark in marks if mark.name == name],
    )


thorough = pytest.mark.thorough


@pytest.mark.parametrize(
    "marks, params, changed, runs",
    [
        ([], {}, [], True),
        ([thorough("tools/kit")], {}, [], False),
        ([thorough("tools/kit")], {}, ["tools/kit/choose.py"], True),
        ([thorough("tools/kit")], {}, ["tools/test.py"], False),
        ([thorough()], {"stem": FORMATS}, [f"notebooks/{FORMATS}.ipynb"], True),
        ([thorough()], {"stem": FORMATS}, ["notebooks/11_collectives.ipynb"], False),
        (
            [thorough()],
            {"path": Path(f"{FORMATS}.ipynb")},
            ["course_utils/chapters/floating_point_formats/float_format.py"],
            True,
        ),
        ([thorough()], {"stem": FORMATS}, [f"notebooks/solutions/{FORMATS}.ipynb"], True),
        ([thorough()], {"exercise": "formats.stochastic"}, [f"notebooks/{FORMATS}.ipynb"], True),
    ],
)
def test_a_thorough_test_runs_where_what_it_guards_changed_lately(marks, params, changed, runs):
    assert conftest.is_left_out(item("tests/test_x.py::test", *marks, **params), changed) != runs


def test_a_thorough_test_that_changed_itself_runs():
    changed = item("tests/test_x.py::test", thorough("tools/kit"))
    assert not conftest.is_left_out(changed, ["tests/test_x.py"])


def test_pages_begin_first_the_largest_before_the_others_and_what_takes_long_before_the_rest():
    pages = sorted(NOTEBOOKS.glob("[01]*.ipynb"), key=lambda page: -page.stat().st_size)
    order = [f"notebooks/{page.name}::Cell 0" for page in pages]
    order += ["tests/pages/rehearsal/test_x.py::test", "tests/core/test_claims.py::test"]
    assert sorted(reversed(order), key=lambda nodeid: conftest.place(item(nodeid))) == order


UNDECIDED = """from course_utils.core.measurement import Measurement
busy = Measurement((1.0,), 9, 1.24, "host")
claim("three-over-four", "three is more than four", 3 > 4, timed=busy)"""
BROKEN = {
    "setup": "from course_utils import claim, compare_bars, start\nstart('06')",
    "undecided-claim": UNDECIDED,
    "false-claim": "claim('two-over-three', 'two is more than three', 2 > 3)",
    "wrong-output": "print(1 + 1)",
    "missing-figure": "compare_bars = print\ncompare_bars('a figure that nobody drew')",
    "deprecated-call": "import warnings\nwarnings.warn('old', DeprecationWarning)",
}


@pytest.fixture
def broken_course(tmp_path):
    """A copy of the project whose only chapter has five faults, one a cell."""
    for folder in ("course_utils", "packages", "tests", "tools", "data"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    for name in ("README.md", "conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    cells = [nbformat.v4.new_code_cell(source, id=name) for name, source in BROKEN.items()]
    for number, cell in enumerate(cells, 1):
        cell.execution_count = number
    stored = {
        "undecided-claim": "✓ three is more than four\n",
        "false-claim": "✓ two is more than three\n",
        "wrong-output": "3\n",
    }
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


def in_the_course(course, targets, stems):
    """What `make test` prints there of such a selection; its last line is whether all passed."""
    chosen = f"Selection({targets!r}, {stems!r}, quick=True)"
    program = f"from tools.test import Selection, run\nprint(run({chosen}, [], {{}}))"
    path = os.pathsep.join(map(str, [course, *course.glob("packages/*")]))
    own = {**os.environ, "PYTHONPATH": path, "WORKERS": "0"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=course, env=own, capture_output=True, text=True)


@pytest.mark.thorough("tools/", "conftest.py")
def test_what_fails_once_is_run_again_alone_and_the_report_says_so(broken_course):
    once = "import pathlib\nmark = pathlib.Path('{}')\nassert mark.exists() or mark.touch()"
    page = broken_course / "notebooks" / f"{FORMATS}.ipynb"
    cells = [nbformat.v4.new_code_cell(text) for text in ("one = 1", once.format("page"))]
    for cell in cells:
        cell.execution_count = 1
    nbformat.write(nbformat.v4.new_notebook(cells=cells), page)
    path = broken_course / "tests" / "tools" / "test_once.py"
    body = once.format("test").replace("\n", "\n    ")
    path.write_text(f"def test_once():\n    {body}\n")
    done = in_the_course(broken_course, [f"notebooks/{FORMATS}.ipynb", str(path)], [])
    assert done.stdout.rstrip().endswith("True"), done.stdout + done.stderr
    assert f"– {FORMATS}, passed when run again: Cell 1: AssertionError" in done.stdout
    assert "– tests.tools.test_once::test_once, passed when run again: " in done.stdout
    assert "2 tests were run again, alone" in done.stdout
    kept = json.loads((broken_course / "build" / "report.json").read_text())
    assert kept["passed"] is True and kept["chapters"][FORMATS]["passed_again"]


@pytest.mark.thorough("tools/", "conftest.py")
def test_a_broken_run_names_each_fault_with_its_chapter(broken_course):
    targets = [f"notebooks/{FORMATS}.ipynb", "tests/pages/test_figures.py"]
    done = in_the_course(broken_course, targets, [FORMATS])
    assert done.stdout.rstrip().endswith("False"), done.stdout + done.stderr
    kept = json.loads((broken_course / "build" / "report.json").read_text())
    chapter = kept["chapters"][FORMATS]
    assert kept["passed"] is False
    assert chapter["claims_failed"] == {"two-over-three": "two is more than three"}
    named = "\n".join(chapter["failed"])
    assert "Cell 2: ClaimError: ✗ two is more than three" in named
    assert r"Cell 3: the stored output differs: '3\n' == '2\n'" in named
    assert "test_every_picture_that_a_page_draws_is_stored_whole" in named
    assert "Cell 5: DeprecationWarning: old" in named and "Cell 1:" not in named
    assert all(f"✗ {FORMATS}, {line}" in done.stdout for line in chapter["failed"])
    assert f"– {FORMATS}, claim three-over-four not decided: three is more than" in done.stdout
