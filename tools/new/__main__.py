"""`make new CHAPTER=03_profiling TITLE="Profiling"`: a chapter that runs, to be written over.

It makes the notebook and its solutions, the chapter's folder in course_utils and in tests, and its
lines in the files that list chapters; it runs the pages; then `make test CHAPTER=03` passes.
All of it is made, or nothing. REMOVE=1 takes it away, where nobody has worked on it since.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from course_utils.core import files
from tools.new import skeleton
from tools.new.tree import Change, NewError, digest, take_back, write

INDEX = "notebooks/00_index.ipynb"  # shows which chapters are written, so it is run as well
EXAMPLE = 'make new CHAPTER=03_profiling TITLE="Profiling"'
COPIED = ("course_utils", "data", "notebooks", "docs")  # what a page needs to be run
LEFT = """
Each ✎ in it, and each … in the tables of README.md and INSTRUCTORS.md, says what belongs there.
README.md says under its table which chapters are designed only: take this one out.
make test CHAPTER={number} tests it; make new CHAPTER={stem} REMOVE=1 takes it away again."""


def main() -> int:
    """Makes or removes the chapter that the environment names; the exit status is 0 if it could."""
    stem, title = os.environ.get("CHAPTER", ""), os.environ.get("TITLE", "").strip()
    try:
        if os.environ.get("REMOVE"):
            said = "\n".join(f"as before: {path}" for path in remove(files.ROOT, stem))
        else:
            said = "\n".join(
                [*make(files.ROOT, stem, title), LEFT.format(number=stem[:2], stem=stem)]
            )
    except NewError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(said)
    return 0


def make(root: Path, stem: str, title: str) -> list[str]:
    """Makes a chapter in the course at `root`; the paths of what is new or changed.

    Raises: NewError, with a sentence, where it can't be made; then nothing has changed.
    """
    _require_name(root, stem)
    if not re.fullmatch(r'[^\s"\\|\[\]$]([^\n"\\|\[\]$]{0,58}[^\s"\\|\[\]$])?', title):
        raise NewError(
            f"Which title? It is one line without quotes, brackets, | or $, as in {EXAMPLE}"
        )
    made = skeleton.files_of(stem, title)
    there = [path for path in made if (root / path).exists()]
    if there:
        raise NewError(f"{stem} is made already: {', '.join(there)} exists. Nothing has changed.")
    listed = list(skeleton.lines_of(root, stem, title))
    before = (root / INDEX).read_text(encoding="utf-8")
    texts = made | {path: text for path, _, text in listed} | {INDEX: before}
    texts |= _run(root, stem, texts)
    change = Change(
        made={path: digest(texts[path]) for path in made},
        added={path: added for path, added, _ in listed},
        run={INDEX: (before, digest(texts[INDEX]))},
    )
    write(root, _note(root, stem), change, texts)
    return [f"{'new' if path in made else 'changed'}: {path}" for path in texts]


def remove(root: Path, stem: str) -> list[str]:
    """Takes away what `make` made; the paths that are as they were before it.

    Raises: NewError where somebody has worked on it since; then nothing has changed.
    """
    return take_back(root, _note(root, stem))


def _note(root: Path, stem: str) -> Path:
    return root / "build" / "new" / f"{stem}.json"


def _require_name(root: Path, stem: str) -> None:
    """Raises NewError where a chapter can't be called so: the list of the course decides."""
    if not re.fullmatch(r"\d\d_[a-z][a-z0-9_]*", stem):
        raise NewError(f"Which chapter? Two digits and a name_in_small_letters, as in {EXAMPLE}")
    parts = json.loads((root / "data" / "course.json").read_text(encoding="utf-8"))
    names = {row["file"][:2]: row["file"] for rows in parts.values() for row in rows}
    planned = names.get(stem[:2])
    if planned is None:
        raise NewError(
            f"No chapter {stem[:2]} stands in data/course.json. Give it a row there first: its "
            "part, its title on the map, and what it comes after."
        )
    if planned != stem:
        raise NewError(f"Chapter {stem[:2]} is {planned} by data/course.json, not {stem}.")


def _run(root: Path, stem: str, texts: dict[str, str]) -> dict[str, str]:
    """The pages as a run of them in a copy of the course stores them.

    Raises: NewError where one fails, or where the machine was too busy to decide a claim.
    """
    pages = [path for path in texts if path.endswith(".ipynb")]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            shutil.copytree(root / name, copy / name, ignore=ignored)
        for path, text in texts.items():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "course_utils", "normalise", stem[:2], "00"],
            cwd=copy, env={**os.environ, "PYTHONPATH": folder}, stdout=sys.stderr,
        )  # fmt: skip
        if done.returncode:
            raise NewError("Nothing was made: the pages didn't run; what they said stands above.")
        run = {path: (copy / path).read_text(encoding="utf-8") for path in pages}
    if any("not decided" in text for text in run.values()):
        raise NewError("Nothing was made: other programs were busy while a page measured. Again?")
    return run


if __name__ == "__main__":
    sys.exit(main())
