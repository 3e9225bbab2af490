"""`make assignment` and `make mark`: right answers get every point, and nothing else does."""

import csv
import json
import subprocess
import sys
import time

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell

from course_utils.core import files
from course_utils.lesson import catalog, exercises
from tools import assignment

needs_otter = pytest.mark.skipif(
    not assignment.OTTER.exists(), reason="no Otter: `make .venv-otter/installed` installs it"
)
thorough = pytest.mark.thorough("tools/assignment.py", "requirements-otter.txt")
CHAPTERS = ("06_floating_point_formats", "09_memory_snapshots", "11_collectives")
LEAVES = "import subprocess\nsubprocess.Popen(['sleep', '{}'], start_new_session=True)"
RANKS = "%%ranks 4\nx = torch.ones(3)\ndist.all_reduce(x)"
SLEEP = "54321"


def sources(notebook, of="code"):
    return [cell.source for cell in notebook.cells if cell.cell_type == of]


@pytest.mark.parametrize("chapter", catalog.chapters(), ids=lambda chapter: chapter.stem)
def test_an_assignment_has_every_exercise_and_defines_what_its_stubs_use(chapter):
    made = assignment.master(chapter.path)
    asked = [one for one in sources(made, "raw") if one.startswith("# BEGIN QUESTION")]
    assert len(asked) == len(chapter.exercises()) > 0
    page = [one for one in sources(nbformat.read(chapter.path, 4)) if assignment.CHECK.search(one)]
    setup = sources(made)[: -2 * len(asked)]
    ruff = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--select",
        "F821",
        "--stdin-filename",
        "assignment.py",
        "-",
    ]
    code = "\n".join([*setup, *page])
    done = subprocess.run(ruff, input=code, text=True, capture_output=True, cwd=files.ROOT)
    assert done.returncode == 0, done.stdout


def test_an_exercise_whose_check_measures_time_is_left_out_and_named(monkeypatch):
    timed = exercises.find("collectives.ring").checker
    monkeypatch.setattr(assignment, "reads_a_clock", lambda checker: checker is timed)
    made = assignment.master(files.chapter_path("11"))
    assert "measures time: collectives.ring." in sources(made, "markdown")[0]
    assert "2 in all" in sources(made, "markdown")[0]
    assert not any("def ring_all_reduce" in one for one in sources(made))
    assert not any("Exercise 2" in one for one in sources(made, "markdown"))


def elapsed():
    return time.perf_counter()


def test_a_clock_is_found_in_a_checker_and_where_a_chapter_reads_one_for_it(monkeypatch):
    def direct(answer):
        return elapsed_here() or time.time()

    def elapsed_here():
        return 0

    def through(answer):
        return elapsed() + answer

    def timeless(answer):
        """Takes none."""
        return str(answer)

    assert assignment.reads_a_clock(direct)
    assert not assignment.reads_a_clock(through)
    monkeypatch.setattr(elapsed, "__module__", "course_utils.chapters.collectives.exercises")
    assert assignment.reads_a_clock(through)
    assert not assignment.reads_a_clock(timeless)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(assignment, "ASSIGNMENTS", tmp_path / "assignment")
    (tmp_path / "handed_in").mkdir()
    return tmp_path / "handed_in"


@thorough
@needs_otter
@pytest.mark.parametrize("stem", CHAPTERS)
def test_right_gets_every_point_wrong_none_and_half_its_half(place, stem):
    chapter = files.chapter_path(stem)
    to_hand_out = nbformat.read(assignment.make(chapter), 4)
    solved = nbformat.read(assignment.marking_of(chapter) / f"{stem}_assignment.ipynb", 4)
    asked = [i for i, cell in enumerate(to_hand_out.cells) if "otter" in cell.metadata]
    stubs = [one for one in sources(nbformat.read(chapter, 4)) if assignment.CHECK.search(one)]
    assert [to_hand_out.cells[i].source for i in asked] == stubs
    assert "grade(" not in nbformat.writes(to_hand_out)

    half, wrong = (nbformat.from_dict(json.loads(json.dumps(to_hand_out))) for _ in range(2))
    for i in asked[: len(asked) // 2]:
        half.cells[i].source = solved.cells[i].source
    for i in asked:
        wrong.cells[i].source = wrong.cells[i].source.replace("    ...", "    return 0")
    solved.metadata["kernelspec"] = {"name": "course", "display_name": "The course"}
    imports = new_code_cell("import torch\n%load_ext course_utils")
    half.cells += [new_code_cell(LEAVES.format(SLEEP)), imports, new_code_cell(RANKS)]
    for name, notebook in {"half": half, "right": solved, "wrong": wrong}.items():
        nbformat.write(notebook, place / f"{name}.ipynb")
    (place / "torn.ipynb").write_text("{")

    table = assignment.mark(chapter, place)
    rows = {row["file"]: row for row in csv.DictReader(table.open())}
    total = {name.partition(".")[0]: row["total"] for name, row in rows.items()}
    wanted = {"half": f"{len(asked) // 2}", "right": f"{len(asked)}", "wrong": "0", "torn": ""}
    assert total == wanted
    assert rows["torn.ipynb"]["problem"].startswith("not marked: ")
    assert [row["problem"] for row in rows.values()].count("") == 3
    said = json.loads((place / "results" / "wrong.json").read_text())["tests"]
    assert len(said) == len(asked)
    assert all("AssertionError: " in one["output"] for one in said)
    left = [one.info["cmdline"] for one in psutil.process_iter(["cmdline"])]
    assert not [one for one in left if one and SLEEP in one]
    assert not [one for one in left if one and str(place) in " ".join(one)]


@thorough
@needs_otter
def test_a_module_that_is_missing_stops_the_packing_and_names_it(place, tmp_path, monkeypatch):
    (tmp_path / "snapshots_and_traces.py").write_text(
        "raise ModuleNotFoundError('no such package')"
    )
    paths = files.python_path(tmp_path)
    monkeypatch.setattr(files, "python_path", lambda: paths)
    with pytest.raises(assignment.AssignmentError, match=r"(?s)full points.*no such package"):
        assignment.make(files.chapter_path("09"))
    assert not assignment.ASSIGNMENTS.exists()


@thorough
@needs_otter
def test_a_submission_that_never_ends_is_stopped_and_not_given_0_points(place, monkeypatch):
    chapter = files.chapter_path("06")
    endless = nbformat.read(assignment.make(chapter), 4)
    endless.cells.append(new_code_cell("while True: pass"))
    nbformat.write(endless, place / "endless.ipynb")
    real, marking = assignment.marks, assignment.marking_of(chapter)

    def hurried(submission, to):
        monkeypatch.setattr(assignment, "LIMIT_SECONDS", 20 if submission.parent == place else 600)
        return real(submission, to)

    monkeypatch.setattr(assignment, "marks", hurried)
    assignment.mark(chapter, place)
    (row,) = csv.DictReader((place / "points.csv").open())
    assert (row["total"], row["problem"]) == ("", "not marked: stopped after 20 s")
    assert marking.exists()
