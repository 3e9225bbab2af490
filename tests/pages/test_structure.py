"""What every chapter must be: design §3's budgets, honest outputs, links that lead somewhere."""

import json
import re
import statistics

import pytest

from course_utils.core import files
from course_utils.lesson.catalog import OF_THE_COURSE

CHAPTERS = files.chapters()
SOLUTIONS = sorted(files.SOLUTIONS.glob("*.ipynb"))
NOTEBOOKS = [files.INDEX, *CHAPTERS, *SOLUTIONS]
MACHINE_PATH = re.compile(r"/(home|root|Users|work|tmp|content)/|[A-Z]:\\\\Users")
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: f"{p.parent.name}/{p.stem}")
chapters = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def cells(path, kind="code"):
    return [c for c in read(path)["cells"] if c["cell_type"] == kind]


def source(cell):
    return "".join(cell["source"])


def is_skeleton(path):
    """Whether the page has places left that `make new` marked."""
    return any("✎" in source(cell) for cell in read(path)["cells"])


def lines(cell):
    return [line for line in source(cell).splitlines() if line.strip()]


def lesson_lines(cell):
    return [line for line in lines(cell) if not line.startswith("answer(")]


def is_question(cell):
    return cell["cell_type"] == "code" and source(cell).startswith("predict(")


def outputs(cell, kind):
    return [o["data"][kind] for o in cell["outputs"] if kind in o.get("data", {})]


@chapters
def test_a_chapters_cells_are_short_and_it_has_about_as_much_prose_as_code(path):
    """Lines that ask for a prediction or answer it count for none."""
    code = [len(lesson_lines(cell)) for cell in cells(path) if not is_question(cell)]
    assert statistics.median(code) <= 8
    assert sum(n <= 20 for n in code) >= 0.9 * len(code)
    assert max(code) <= 40
    assert path.stat().st_size <= 400_000
    prose = sum(len(source(cell).split()) for cell in cells(path, "markdown"))
    words = sum(len(source(cell).split()) for cell in cells(path) if not is_question(cell))
    assert 0.75 < prose / words < 2


@chapters
def test_a_chapter_has_the_skeleton_of_the_design(path):
    titles = re.findall(r"^##? (.*)", "\n".join(map(source, cells(path, "markdown"))), re.M)
    number = path.stem[:2]
    assert titles[0].startswith(f"{number} · ")
    sections = [title.partition(".")[0] for title in titles[1:] if title[0].isdigit()]
    assert 4 <= len(sections) <= 7 and sections == [str(n + 1) for n in range(len(sections))]
    assert titles[-1] == "Remember"
    assert len(lines(cells(path)[0])) <= 8 and "start(" in source(cells(path)[0])
    text = "\n".join(source(cell) for cell in cells(path))
    assert len(re.findall(r"\b(?:claim|follows)\(", text)) >= 6
    prose = "\n".join(source(cell) for cell in cells(path, "markdown"))
    assert 2 <= len(re.findall(r"^> \*\*Exercise \d", prose, re.M)) <= 4
    assert len(re.findall(r"\bcheck\(", text)) >= 2
    shown = ["".join(alt) for cell in cells(path) for alt in outputs(cell, "text/plain")]
    assert any(alt.startswith("[widget] ") for alt in shown)


@by_name
def test_a_notebook_is_its_last_full_run_without_errors_warnings_and_open_claims(path):
    code = cells(path)
    assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1))
    for output in (output for cell in code for output in cell["outputs"]):
        assert output["output_type"] != "error" and output.get("name") != "stderr", output
    ids = [c["id"] for c in read(path)["cells"]]
    assert len(ids) == len(set(ids))
    assert all(OF_THE_COURSE.fullmatch(id) for id in ids), "which progress counts as the reader's"
    assert "not decided" not in path.read_text(encoding="utf-8"), "by a busy machine: run it again"


@by_name
def test_a_notebook_carries_nothing_of_the_machine_that_ran_it(path):
    text = path.read_text(encoding="utf-8")
    assert "widgets" not in read(path)["metadata"]
    assert "widget-view" not in text and "ExecuteTime" not in text
    assert not MACHINE_PATH.search(text)
    assert set(read(path)["metadata"]["language_info"]) == {"name"}


@by_name
def test_ignored_outputs_are_few_and_have_a_reason(path):
    code = cells(path)
    tags = {"nbval-ignore-output", "nbval-skip"}
    ignored = [c for c in code if tags & set(c["metadata"].get("tags", []))]
    assert all(c["metadata"].get("reason") for c in ignored)
    assert len(ignored) <= 0.1 * len(code)


@by_name
def test_live_numbers_with_a_unit_carry_their_mark(path):
    """In printed text, a number with a unit of time is measured, so it needs its ≈.

    What follows from published figures (∴) is no measurement of this run, nor is a bound. A
    table that torch prints has torch's text.
    """
    for cell in cells(path):
        if cell["metadata"].get("reason", "").startswith("torch's own table"):
            continue
        printed = "".join("".join(o.get("text", "")) for o in cell["outputs"])
        text = "\n".join(line for line in printed.splitlines() if not line.startswith("∴"))
        text = re.sub(r"[<>] [\d.]+ \w+|[\d.]+ \w+ (?=<)", "", text)
        bare = r"(?<!≈ )(?<!e[+-])(?<![\d.,])\d[\d.,]*\s?(ms|µs|ns|GB/s|MB/s)\b"
        assert not re.search(bare, text), text


@pytest.mark.parametrize(
    "path",
    [
        *NOTEBOOKS,
        *(files.ROOT / f"{name}.md" for name in ("README", "INSTRUCTORS", "CONTRIBUTING")),
        *sorted((files.ROOT / "docs").glob("*.md")),
    ],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_links_lead_to_a_file_of_the_project(path):
    texts = map(source, cells(path, "markdown")) if path.suffix == ".ipynb" else [path.read_text()]
    for target in re.findall(r"\]\(([^)#\s]+)", "\n".join(texts)):
        assert "://" in target or (path.parent / target).resolve().exists(), target


@chapters
def test_a_chapter_is_in_the_readme_and_each_exercise_of_its_solutions_was_right(path):
    assert f"notebooks/{path.name}" in (files.ROOT / "README.md").read_text()
    solved = cells(files.SOLUTIONS / path.name)
    said = [o["text"] for c in solved for o in c["outputs"] if "text" in o]
    right = sum("".join(text).startswith("✓") for text in said)
    assert right == sum("check(" in line for c in solved for line in lines(c)[1:])


@chapters
def test_what_a_chapter_records_is_declared_and_the_other_way_round(path):
    declared = json.loads((files.DATA / "experiments.json").read_text())[path.stem]
    text = "\n".join(map(source, cells(path)))
    recorded = set(re.findall(r'\brecord(?:_each|_snapshot)?\(\s*"(\w+)"', text))
    assert recorded | {"claims"} == set(declared)
