"""`make test`: what it chooses to run, and what its report says of a good and of a broken run."""

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from xml.sax.saxutils import quoteattr

import nbformat
import pytest

from course_utils.core.files import NOTEBOOKS, ROOT, SOLUTIONS
from tests.support import timed_last
from tools import affected, report
from tools import test as tool

FORMATS = "06_floating_point_formats"


def junit(path, *cases):
    """A JUnit file of (group, name, seconds, problem)."""
    lines = []
    for group, name, seconds, problem in cases:
        inside = f"<failure>{problem}</failure>" if problem else ""
        head = f"classname={quoteattr(group)} name={quoteattr(name)} time='{seconds}'"
        lines.append(f"<testcase {head}>{inside}</testcase>")
    path.write_text(f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>")
    return list(report.read_junit(path))


def noted(kind, **what):
    return {"kind": kind, "chapter": FORMATS, **what}


def test_a_changed_room_reaches_its_chapter_and_no_other():
    reached = affected.reached_by(["course_utils/chapters/floating_point_formats/quantizer.py"])
    pages = [path for path in reached if path.startswith("notebooks/")]
    assert pages == [f"notebooks/{FORMATS}.ipynb", f"notebooks/solutions/{FORMATS}.ipynb"]
    assert "tests/pages/test_answers.py" in reached and "tests/ranks/test_session.py" not in reached


@pytest.mark.parametrize(
    "changed, reached",
    [
        ("course_utils/workloads/gpt.py", "notebooks/07_mixed_precision.ipynb"),
        ("course_utils/ranks/engine/magic.py", "notebooks/11_collectives.ipynb"),
        ("course_utils/ranks/session.py", "tests/ranks/test_session.py"),
        ("course_utils/memory/views/segments_map.js", "notebooks/09_memory_snapshots.ipynb"),
        ("course_utils/chapters/collectives/exercises.py", "notebooks/11_collectives.ipynb"),
        ("tests/chapters/collectives/wrong_answers.py", "tests/pages/test_answers.py"),
        ("notebooks/02_async_execution.ipynb", "tests/pages/conditions/test_conditions.py"),
        ("README.md", "tests/install/test_install.py"),
    ],
)
def test_what_uses_a_file_in_whatever_way_is_reached(changed, reached):
    assert reached in affected.reached_by([changed])


def test_another_chapters_checker_is_not_run():
    reached = affected.reached_by(["course_utils/chapters/collectives/exercises.py"])
    assert f"notebooks/{FORMATS}.ipynb" not in reached


@pytest.mark.parametrize("path", ["requirements.txt", "data/published.json", "tests/conftest.py"])
def test_pins_data_and_fixtures_reach_everything(path):
    assert affected.reached_by([path]) is None


def test_every_room_is_reached_by_some_test_or_chapter():
    rooms = [p.relative_to(ROOT).as_posix() for p in (ROOT / "course_utils").rglob("*.py")]
    lonely = [room for room in rooms if "__" not in room and affected.reached_by([room]) == []]
    assert lonely == []


def test_a_chapter_alone_is_its_page_its_exercises_and_its_own_rooms():
    chosen = tool.one_chapter("06")
    assert (
        chosen.stems == [FORMATS]
        and "tests/chapters/floating_point_formats/test_formats.py" in chosen.library
    )
    assert f"notebooks/{FORMATS}.ipynb" in chosen.chapters
    assert not any("rank" in path for path in [*chosen.library, *chosen.chapters])


def test_of_tests_about_every_chapter_only_the_named_ones_are_collected():
    only = ["-p", "tests.support.only_chapters", "--only-chapters", FORMATS, "--collect-only", "-q"]
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


def test_the_report_counts_a_claim_once_at_its_worst(tmp_path):
    cases = junit(tmp_path / "a.xml", (f"notebooks.{FORMATS}.ipynb", "Cell 0", 41, ""))
    journal = [
        noted("waited", seconds=10),
        *(noted("claim", id="a", claim="A.", needs=None, outcome="held") for _ in range(2)),
        noted("claim", id="b", claim="B.", needs=None, outcome="held"),
        noted("claim", id="b", claim="B, in other words.", needs=None, outcome="failed"),
        noted("claim", id="c", claim="C.", needs=None, outcome="not decided"),
        noted("claim", id="d", claim="D.", needs="gpu", outcome="not tested here"),
        noted("published", name="x", source="someone"),
    ]
    (chapter,) = report.by_chapter(cases, journal).values()
    assert (chapter.claims_held, chapter.claims_failed, chapter.claims_not_decided) == (
        1, {"b": "B, in other words."}, {"c": "C."},
    )  # fmt: skip
    assert chapter.claims_not_tested_here == {"d": "gpu"} and chapter.published == ["x"]
    assert chapter.seconds == 31 and chapter.over_budget
    text = report.as_text({FORMATS: chapter}, cases)
    assert f"✗ {FORMATS}, claim b: B, in other words." in text
    assert "1/3" in text and "1 (gpu)" in text and f"{FORMATS} takes 31 s, over its 30 s" in text


def test_the_report_shows_the_age_of_evidence_and_an_exercise_whose_check_failed(tmp_path):
    answers = "tests.pages.test_answers"
    cases = junit(
        tmp_path / "a.xml",
        (f"notebooks.{FORMATS}.ipynb", "Cell 0", 5, ""),
        (answers, "test_the_solution_passes_again_and_again[formats.kahan]", 1, ""),
        (answers, "test_the_solution_passes_again_and_again[formats.six_bits]", 1, ""),
        (answers, "test_a_wrong_answer_is_rejected_every_time[formats.six_bits-x]", 1, "passed"),
    )
    then = (datetime.now(UTC) - timedelta(days=12, hours=1)).isoformat()
    journal = [noted("recorded", name="matmul", machine="H200", date=then)]
    chapters = report.by_chapter(cases, journal)
    chapter = chapters[FORMATS]
    assert chapter.exercises_verified == ["formats.kahan"]
    assert chapter.exercises_not_verified == ["formats.six_bits"]
    assert chapter.recordings == [{"experiment": "matmul", "machine": "H200", "days_old": 12}]
    assert "1 recorded (H200, up to 12 days old)" in report.as_text(chapters, cases)
    assert report.as_json(chapters, cases)["passed"] is False


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
    for name in ("README.md", "pyproject.toml"):
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


def test_a_page_that_fails_once_is_run_again_and_the_report_says_so(broken_course):
    page = broken_course / "notebooks" / f"{FORMATS}.ipynb"
    once = "import pathlib\nmark = pathlib.Path('mark')\nassert mark.exists() or mark.touch()"
    cells = [nbformat.v4.new_code_cell(text, id=f"c{n}") for n, text in enumerate(["1", once])]
    for cell in cells:
        cell.execution_count, cell.outputs = 1, []
    cells[0].source = "one = 1"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), page)
    program = (
        "from tools.test import Selection, run\n"
        f"print(run(Selection([], ['notebooks/{FORMATS}.ipynb'], []), []))"
    )
    own = {**os.environ, "PYTHONPATH": str(broken_course), "WORKERS": "0"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=broken_course, env=own, capture_output=True, text=True)
    assert done.stdout.rstrip().endswith("True"), done.stdout + done.stderr
    assert f"– {FORMATS}, passed when run again: Cell 1: AssertionError" in done.stdout
    kept = json.loads((broken_course / "build" / "report.json").read_text())
    assert kept["passed"] is True and kept["chapters"][FORMATS]["passed_again"]


def test_a_broken_run_names_each_fault_with_its_chapter(broken_course):
    program = (
        "from tools.test import Selection, run\n"
        f"page = 'notebooks/{FORMATS}.ipynb'\n"
        f"print(run(Selection(['tests/pages/test_structure.py'], [page], ['{FORMATS}']), []))"
    )
    own = {**os.environ, "PYTHONPATH": str(broken_course), "WORKERS": "0"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=broken_course, env=own, capture_output=True, text=True)
    assert done.stdout.rstrip().endswith("False"), done.stdout + done.stderr
    kept = json.loads((broken_course / "build" / "report.json").read_text())
    chapter = kept["chapters"][FORMATS]
    assert kept["passed"] is False
    assert chapter["claims_failed"] == {"two-over-three": "two is more than three"}
    named = "\n".join(chapter["failed"])
    assert "Cell 1: ClaimError: ✗ two is more than three" in named
    assert r"Cell 2: the stored output differs: '3\n' == '2\n'" in named
    assert "test_every_cell_that_draws_stores_a_picture_that_is_not_blank" in named
    assert "Cell 4: DeprecationWarning: old" in named
    assert all(f"✗ {FORMATS}, {line}" in done.stdout for line in chapter["failed"])


def test_chapters_that_time_something_run_after_those_that_do_not():
    stems = ("02_async_execution", FORMATS, "12_data_parallelism", "09_memory_snapshots")
    items = [SimpleNamespace(path=NOTEBOOKS / f"{stem}.ipynb") for stem in stems]
    timed_last.pytest_collection_modifyitems(items)
    assert [item.path.stem[:2] for item in items] == ["06", "09", "02", "12"]
