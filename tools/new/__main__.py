"""`make new CHAPTER=03_profiling TITLE="Profiling"`: a chapter that runs, to be written over.

It fills templates/: the notebook and its solutions, the chapter's folders in course_utils and in
tests, and its lines in the files that list chapters. It runs the pages in a copy of the course;
only if they run is anything written. `make test CHAPTER=03` passes then. REMOVE=1 takes it away,
where nobody has worked on it since.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from string import Template

import nbformat

from course_utils.core import files

TEMPLATES = Path(__file__).parent / "templates"
FILES = {  # of the chapter, and the template of each
    "notebooks/$stem.ipynb": "page.txt",
    "notebooks/solutions/$stem.ipynb": "solutions.txt",
    "course_utils/chapters/$name/__init__.py": "public_names.txt",
    "course_utils/chapters/$name/exercises.py": "exercises.txt",
    "course_utils/chapters/$name/sum_widget.py": "sum_widget.txt",
    "tests/chapters/$name/__init__.py": "",
    "tests/chapters/$name/wrong_answers.py": "wrong_answers.txt",
}
LISTS = {  # files that list the chapters in their order, and a chapter's entry there
    "data/experiments.json": """\
 "$stem": {
  "claims": {"version": 2, "columns": ["id", "claim", "needs", "held"]},
  "two_sums": {"version": 1, "columns": ["way", "seconds"]}
 }""",
    "data/recording_plan.json": ' "$stem": {"seconds": 8}',
    "README.md": "| [$number · $title](notebooks/$stem.ipynb) | … | $minutes | … | … |",
    "INSTRUCTORS.md": "| $number | $minutes | … | … | … | … |",
}
ENTRY = re.compile(r'^(?: "|\| |\| \[)(\d\d)[ _].*\n', re.M)  # begins an entry, is a table's row
HIDDEN = {"jupyter": {"source_hidden": True}}
INDEX = "notebooks/00_index.ipynb"  # shows which chapters are written, so it is run as well
NOTE = "build/new/{}.json"  # what was made, by which it can be taken back
EXAMPLE = 'make new CHAPTER=03_profiling TITLE="Profiling"'


class NewError(Exception):
    """Says what can't be done, and what to do instead; nothing has changed."""


def make(root: Path, stem: str, title: str) -> str:
    """Makes a chapter in the course at `root`; says what is new or changed, and what is left."""
    number, _, name = stem.partition("_")
    if not re.fullmatch(r"\d\d_[a-z][a-z0-9_]*", stem):
        raise NewError(f"Which chapter? Two digits and a name_in_small_letters, as in {EXAMPLE}")
    if not re.fullmatch(r'[^\n"\\|\[\]$]{1,60}', title):
        raise NewError(f"Which title? A line without quotes, brackets, | or $, as in {EXAMPLE}")
    if f'"{stem}"' not in (root / "data" / "course.json").read_text(encoding="utf-8"):
        raise NewError(f"{stem} is not in data/course.json: give it a row there first.")
    words = {"stem": stem, "number": number, "name": name, "title": title, "minutes": "10"}
    made = {Template(path).substitute(words): _filled(file, words) for path, file in FILES.items()}
    if there := [path for path in made if (root / path).exists()]:
        raise NewError(f"{stem} is there already: {', '.join(there)}. Nothing has changed.")
    index, added, listed = _read(root / INDEX), {}, {}
    for path, entry in LISTS.items():
        added[path], listed[path] = _listed(root / path, Template(entry).substitute(words), number)
    texts = {**made, **listed, INDEX: index}
    texts |= run_pages(root, stem, texts)
    note = {"made": {path: texts[path] for path in made}, "added": added}
    _write(root, texts | {NOTE.format(stem): json.dumps(note | {"index": [index, texts[INDEX]]})})
    return f"""New or changed: {", ".join(texts)}
Each ✎ on its page, and each … in the tables of README.md and INSTRUCTORS.md, waits for you.
`make test CHAPTER={number}` tests it; `make new CHAPTER={stem} REMOVE=1` takes it away again."""


def remove(root: Path, stem: str) -> str:
    """Takes away what `make` made, unless somebody has worked on it since."""
    note_file = root / NOTE.format(stem)
    if not note_file.exists():
        raise NewError(f"Nothing is removed: {stem} was not made here. See git status, git clean.")
    note, name = json.loads(_read(note_file)), stem.partition("_")[2]
    folders = [root / "course_utils/chapters" / name, root / "tests/chapters" / name]
    there = {root / path for path in note["made"] if (root / path).exists()}
    there |= {p for f in folders for p in f.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    now = {path.relative_to(root).as_posix(): _read(path) for path in there}
    kept = [path for path, text in now.items() if note["made"].get(path) != text]
    listed = {path: _read(root / path) for path in LISTS}
    kept += [f"its lines in {path}" for path in LISTS if note["added"][path] not in listed[path]]
    if kept:
        raise NewError(f"Nothing is removed: somebody has worked on {', '.join(sorted(kept))}.")
    _write(root, {path: listed[path].replace(note["added"][path], "", 1) for path in LISTS})
    before, then = note["index"]
    if not (stale := _read(root / INDEX) != then):
        _write(root, {INDEX: before})
    for path in (*there, note_file):
        path.unlink()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    left = " 00_index.ipynb was run since: `make normalise ARGS=00`." if stale else ""
    return f"Removed: {', '.join(now)}.{left}"


def _filled(template: str, words: dict[str, str]) -> str:
    """A template's text; of a page, in which `--- code its-id` begins a cell, the notebook's.

    `--- code its-id hidden` begins a cell whose source is collapsed.
    """
    text = Template(_read(TEMPLATES / template) if template else "").substitute(words)
    if not text.startswith("---"):
        return text
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    parts = re.split(r"^--- (markdown|code) ([\w-]+)( hidden)?\n", text, flags=re.M)[1:]
    cells = zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)
    made = [
        make[kind](source.strip(), id=id, metadata=HIDDEN if hidden else {})
        for kind, id, hidden, source in cells
    ]
    return nbformat.writes(nbformat.v4.new_notebook(cells=made)) + "\n"


def _listed(path: Path, entry: str, number: str) -> tuple[str, str]:
    """Returns the addition to a file that lists chapters, and the file with it."""
    text = _read(path)
    entries = list(ENTRY.finditer(text))
    later = [one.start() for one in entries if one[1] > number]
    if path.suffix == ".json":
        at, added = (later[0], f"{entry},\n") if later else (text.rindex("\n}"), f",\n{entry}")
    else:
        at, added = later[0] if later else entries[-1].end(), f"{entry}\n"
    return added, text[:at] + added + text[at:]


def run_pages(root: Path, stem: str, texts: dict[str, str]) -> dict[str, str]:
    """The notebooks among `texts` as a run of them in a copy of the course stores them."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("course_utils", "data", "docs", "notebooks"):
            shutil.copytree(root / name, Path(folder, name))
        _write(Path(folder), texts)
        command = [sys.executable, "-m", "course_utils", "normalise", stem[:2], "00"]
        own = {**os.environ, "PYTHONPATH": folder}
        if subprocess.run(command, cwd=folder, env=own, stdout=sys.stderr).returncode:
            raise NewError("Nothing was made: a page doesn't run. What it said is above.")
        run = {path: _read(Path(folder, path)) for path in texts if path.endswith(".ipynb")}
    if any("not decided" in text for text in run.values()):
        raise NewError("Nothing was made: other programs were busy while the page measured. Again?")
    return run


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _write(root: Path, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        chapter = os.environ.get("CHAPTER", "")
        if os.environ.get("REMOVE"):
            print(remove(files.ROOT, chapter))
        else:
            print(make(files.ROOT, chapter, os.environ.get("TITLE", "").strip()))
    except NewError as problem:
        sys.exit(str(problem))
