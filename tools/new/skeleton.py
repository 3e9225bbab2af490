"""What a new chapter consists of: files from templates/, and lines in files that list chapters."""

import re
from collections.abc import Iterator
from pathlib import Path
from string import Template

TEMPLATES = Path(__file__).parent / "templates"
FILES = {  # of the chapter, and the template of each
    "notebooks/$stem.ipynb": "page.txt",
    "notebooks/solutions/$stem.ipynb": "solutions.txt",
    "course_utils/chapters/$name/__init__.py": "door.txt",
    "course_utils/chapters/$name/exercises.py": "exercises.txt",
    "course_utils/chapters/$name/sum_widget.py": "sum_widget.txt",
    "tests/chapters/$name/__init__.py": "",
    "tests/chapters/$name/test_sum_widget.py": "test_sum_widget.txt",
    "tests/chapters/$name/wrong_answers.py": "wrong_answers.txt",
}
MINUTES = 10  # to read and run the skeleton, exercises not counted
CELL = re.compile(r"^--- (markdown|code) ([\w-]+)\n", re.M)
EXPERIMENTS = """\
 "$stem": {
  "claims": {"version": 2, "columns": ["id", "claim", "needs", "held"]},
  "two_sums": {"version": 1, "columns": ["way", "seconds"]}
 }"""
RECORDING_PLAN = """\
 "$stem": {
  "page_seconds": 8,
  "experiments": {
   "claims": {
    "worth": 1,
    "seconds": 0
   },
   "two_sums": {
    "worth": 1,
    "seconds": 1
   }
  }
 }"""
LISTS = {  # files that list the chapters in their order, and a chapter's entry there
    "data/experiments.json": EXPERIMENTS,
    "data/recording_plan.json": RECORDING_PLAN,
    "README.md": "| [$number · $title](notebooks/$stem.ipynb) | … | $minutes | … | … |",
    "INSTRUCTORS.md": "| $number | $minutes | … | … | … | … |",
}
ENTRY = re.compile(r'^(?: "|\| |\| \[)(\d\d)[ _].*\n', re.M)  # begins an entry, takes a table's row


def files_of(stem: str, title: str) -> dict[str, str]:
    """The files that are the chapter's own, by path below the root, with what is to stand there.

    The notebooks have not been run.
    """
    words = _words(stem, title)
    found = {}
    for path, template in FILES.items():
        text = (TEMPLATES / template).read_text(encoding="utf-8") if template else ""
        filled = Template(text).substitute(words)
        path = Template(path).substitute(words)
        found[path] = _notebook(filled) if path.endswith(".ipynb") else filled
    return found


def lines_of(root: Path, stem: str, title: str) -> Iterator[tuple[str, str, str]]:
    """(path, what is to be added, the file with it) of each file that lists the chapters."""
    for path, template in LISTS.items():
        text = (root / path).read_text(encoding="utf-8")
        entry = Template(template).substitute(_words(stem, title))
        entries = list(ENTRY.finditer(text))
        later = [one.start() for one in entries if one[1] > stem[:2]]
        if path.endswith(".json"):
            at, added = (later[0], f"{entry},\n") if later else (text.rindex("\n}"), f",\n{entry}")
        else:
            at, added = later[0] if later else entries[-1].end(), f"{entry}\n"
        yield path, added, text[:at] + added + text[at:]


def _words(stem: str, title: str) -> dict[str, str]:
    number, _, name = stem.partition("_")
    return {
        "stem": stem, "number": number, "name": name, "title": title, "minutes": str(MINUTES),
    }  # fmt: skip


def _notebook(text: str) -> str:
    """A notebook from a text in which `--- code its-id` begins a cell."""
    import nbformat

    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    _, *parts = CELL.split(text)
    kinds, ids, sources = parts[::3], parts[1::3], parts[2::3]
    cells = [
        make[kind](source.strip(), id=name)
        for kind, name, source in zip(kinds, ids, sources, strict=True)
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    return nbformat.writes(notebook) + "\n"
