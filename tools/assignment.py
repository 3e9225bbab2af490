"""`make assignment CHAPTER=11` and `make mark CHAPTER=11 FROM=handed_in`, with Otter-Grader.

An assignment has a chapter's exercises and no measurements; build/assignment/11 gets the notebook
to hand out, and in `marking` what marks it. Both commands mark the course's own solution first
and refuse unless it gets full points, so that a package that is missing here costs no student any.
Otter is in .venv-otter, which sees the reader's packages.
"""

import argparse
import contextlib
import csv
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from types import FunctionType
from typing import Any

import nbformat
import psutil
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from course_utils.cli.notebooks import KERNEL
from course_utils.core import files
from course_utils.lesson import exercises

ASSIGNMENTS = files.ROOT / "build" / "assignment"
OTTER = files.ROOT / ".venv-otter" / "bin" / "python"
LIMIT_SECONDS = 600  # for a submission
AUTOGRADER = "autograder.zip"
TIMING = ("course_utils.core.timing", "course_utils.core.measurement")
CHECK = re.compile(r'^check\("([\w.]+)", (\w+)\)', re.M)
CLOCKS = {"perf_counter", "monotonic", "process_time", "time", "timeit", *TIMING}
CONFIG = "# ASSIGNMENT CONFIG\nname: {}\ninit_cell: false\nexport_cell: false\n"
CONFIG += "tests: {{ok_format: false}}"
QUESTION = "# BEGIN QUESTION\nname: {}\npoints: 1\ncheck_cell: false"
ANSWER = '''# BEGIN SOLUTION NO PROMPT
{solution}
# END SOLUTION
""" # BEGIN PROMPT
{stub}
""" # END PROMPT'''
TEST = '''""" # BEGIN TEST CONFIG
hidden: true
""" # END TEST CONFIG
def test_it({answer}):
    from course_utils.lesson.exercises import grade

    verdict = grade("{name}", {answer})
    assert verdict.passed, verdict.message'''
TITLE = """{title}: assignment

These are exercises of {stem}.ipynb, which has the sections that they name. Run the cell below. Then
write each answer in place of `...` and run its cell: `check` says whether it is right. Each right
answer is a point, {points} in all. Keep the functions' names, and hand in this file.{left_out}

{intro}"""
LEFT_OUT = "\n\nNot in this assignment, since its check measures time: {}."


class AssignmentError(Exception):
    """An assignment that can't be made or marked; the message says what to do."""


def make(chapter: Path) -> Path:
    """Writes the assignment of a chapter; returns the notebook to hand out.

    Raises: AssignmentError, and leaves an earlier assignment as it was, if the course's own
    solution doesn't get full points.
    """
    name, marking = f"{chapter.stem}_assignment.ipynb", marking_of(chapter)
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "made")
        nbformat.write(master(chapter), Path(place, name))
        code, said = run_otter(["assign", "--no-run-tests", name, "made"], Path(place))
        if code:
            raise AssignmentError(f"Otter could not make the assignment:\n{said}")
        next((made / "autograder").glob("*.zip")).rename(made / "autograder" / AUTOGRADER)
        require_full_points(made / "autograder")
        shutil.copytree(made / "autograder", marking, dirs_exist_ok=True)
        return Path(shutil.copy(made / "student" / name, marking.parent))


def marking_of(chapter: Path) -> Path:
    """The folder of what marks a chapter's assignment, such as build/assignment/11/marking."""
    return ASSIGNMENTS / chapter.stem[:2] / "marking"


def master(chapter: Path) -> Any:
    """The notebook of which Otter makes the one to hand out and the one with the solutions.

    The set-up is that of the solutions' notebook, which has all that an answer needs.
    """
    page, cells, left_out = nbformat.read(chapter, 4), [], []
    (text,) = (cell.source for cell in page.cells if cell.id == "exercises")
    below = text.partition("## Exercises\n")[2]
    intro, *statements = re.split(r"^(?=> \*\*Exercise )", below, flags=re.M)
    for cell in page.cells:
        found = CHECK.search(cell.source) if cell.cell_type == "code" else None
        if found and reads_a_clock(exercises.find(found[1]).checker):
            left_out.append(found[1])
        elif found:
            cells.append(new_raw_cell(QUESTION.format(found[1].partition(".")[2])))
            if exactly := re.fullmatch(r"exercise-(\d+)", cell.id):
                cells.append(new_markdown_cell(statements[int(exactly[1]) - 1].strip()))
            solution = exercises.worked(found[1], exercises.find(found[1]).solution).code
            answer = new_code_cell(ANSWER.format(solution=solution, stub=cell.source))
            test = new_code_cell(TEST.format(name=found[1], answer=found[2]))
            for block, inside in {"SOLUTION": answer, "TESTS": test}.items():
                cells += [new_raw_cell(f"# BEGIN {block}"), inside, new_raw_cell(f"# END {block}")]
            cells.append(new_raw_cell("# END QUESTION"))
    title = TITLE.format(
        title=page.cells[0].source.partition("\n")[0],
        stem=chapter.stem,
        points=sum(cell.source == "# END QUESTION" for cell in cells),
        left_out=LEFT_OUT.format(", ".join(left_out)) if left_out else "",
        intro=intro.strip(),
    ).strip()
    solved = nbformat.read(files.SOLUTIONS / chapter.name, 4).cells
    above = list(takewhile(lambda cell: not cell.source.startswith("## "), solved))
    setup = [new_code_cell(cell.source) for cell in above if cell.cell_type == "code"]
    begin = [new_raw_cell(CONFIG.format(chapter.stem)), new_markdown_cell(title), *setup]
    return nbformat.v4.new_notebook(cells=begin + cells, metadata=page.metadata)


def reads_a_clock(checker: Callable[..., Any], seen: frozenset[Any] = frozenset()) -> bool:
    """True if a checker measures time, itself or in a function of a chapter that it names."""
    names = set(re.findall(r"\w+", inspect.getsource(checker)))
    used = [checker.__globals__[name] for name in names & checker.__globals__.keys()]
    homes = {getattr(one, "__module__", getattr(one, "__name__", "")) for one in used}
    called = {one for one in used if isinstance(one, FunctionType)} - seen
    ours = [one for one in called if one.__module__.startswith("course_utils.chapters.")]
    reads = CLOCKS & {*(names - {"time"}), *homes}  # a word `time` may be anything
    return bool(reads) or any(reads_a_clock(one, seen | called) for one in ours)


def mark(chapter: Path, handed_in: Path) -> Path:
    """Marks the notebooks of a folder; writes their points to points.csv in it, which it returns.

    One that can't be marked gets its problem and no points. `results` has what Otter says of each.
    Raises: AssignmentError if there is nothing to mark, or the course's own solution fails.
    """
    marking, submissions = marking_of(chapter), sorted(handed_in.glob("*.ipynb"))
    if not (marking / AUTOGRADER).exists():
        raise AssignmentError(f"`make assignment CHAPTER={chapter.stem[:2]}` comes first.")
    if not submissions:
        raise AssignmentError(
            f"No notebook (*.ipynb) is in {handed_in}: FROM=folder names another."
        )
    possible, rows = require_full_points(marking), []
    for path in submissions:
        tests, problem = marks(path, marking)
        points = {one["name"]: f"{one['score']:g}" for one in tests}
        total = "" if problem else f"{sum(map(float, points.values())):g}"
        print(f"{path.name}: {problem or f'{total} of {len(possible)}'}", flush=True)
        rows.append({"file": path.name, **points, "total": total, "problem": problem})
        text = json.dumps({"tests": tests, "problem": problem}, indent=1, ensure_ascii=False)
        files.write_whole(handed_in / "results" / f"{path.stem}.json", text)
    with (handed_in / "points.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ["file", *possible, "total", "problem"])
        table.writeheader()
        table.writerows(rows)
    return handed_in / "points.csv"


def require_full_points(marking: Path) -> list[str]:
    """Marks the course's own solution; returns the names of its exercises.

    Raises: AssignmentError, with what failed, if it doesn't get every point.
    """
    (solution,) = marking.glob("*.ipynb")
    tests, problem = marks(solution, marking)
    lost = [one["output"] for one in tests if one["score"] < one["max_score"]]
    if problem or lost or not tests:
        raise AssignmentError(
            "The course's own solution doesn't get full points on this machine, so nobody would. "
            "If a module is missing, `make setup`. This failed:\n" + "\n".join([problem, *lost])
        )
    return [one["name"] for one in tests]


def marks(submission: Path, marking: Path) -> tuple[list[dict[str, Any]], str]:
    """Otter's result for each exercise of a notebook; or none, and why."""
    with tempfile.TemporaryDirectory() as place:
        copy, autograder = str(Path(place, submission.name)), str(marking / AUTOGRADER)
        try:
            notebook = nbformat.read(submission, 4)
        except Exception as error:
            return [], f"not marked: {error!r}"
        notebook.metadata["kernelspec"] = KERNEL  # however the student's server calls it
        nbformat.write(notebook, copy)
        code, said = run_otter(["run", "--no-logo", "-a", autograder, copy], Path(place))
        results = Path(place, "results.json")
        if code or not results.exists():
            return [], f"not marked: {said.strip().rpartition(chr(10))[2]}"
        found = json.loads(results.read_text(encoding="utf-8"))["tests"]
    return [one for one in found if "score" in one], ""


def run_otter(command: list[str], place: Path) -> tuple[int, str]:
    """Runs Otter in the folder `place`; returns its exit status and what it printed.

    Neither Otter nor anything that it started, such as ranks, still runs afterwards.
    """
    token = f"COURSE_{uuid.uuid4().hex}"  # in the environment of all that this starts
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": files.python_path(), token: ""}
    own["COURSE_PROGRESS"] = str(place / "progress.json")  # not that of whoever marks
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        whole, told = [OTTER, "-m", "otter", *command], subprocess.STDOUT
        more = {"cwd": place, "env": os.environ | own, "stdin": subprocess.DEVNULL}
        process = subprocess.Popen(whole, stdout=said, stderr=told, **more)
        try:
            code = process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            while left := [
                p for p in psutil.process_iter(["environ"], {}) if token in p.info["environ"]
            ]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    [one.kill() for one in left]
                psutil.wait_procs(left, 1)
        said.seek(0)
        return code, said.read() if code >= 0 else f"stopped after {LIMIT_SECONDS} s"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.assignment")
    parser.add_argument("what", choices=["make", "mark"])
    parser.add_argument("chapter", help="such as 11")
    parser.add_argument("handed_in", nargs="?", type=Path, default="handed_in", help="to be marked")
    options = parser.parse_args()
    try:
        chapter = files.chapter_path(options.chapter)
        print(mark(chapter, options.handed_in) if options.what == "mark" else make(chapter))
    except (AssignmentError, LookupError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
