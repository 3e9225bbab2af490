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
NAME = re.compile(r"\d\d_[a-z][a-z0-9_]*")
TITLE = re.compile(r'[^\n"\\|\[\]$]{1,60}')
COPIED = ("course_utils", "data", "docs", "notebooks")  # what a page needs to be run
TRIES = 3  # where other programs are busy while a page measures
LEFT = """
Each ✎ on its page, and each … in the tables of README.md and INSTRUCTORS.md, waits for you.
README.md says under its table which chapters are designed only: take this one out.
`make test CHAPTER={number}` tests it; `make new CHAPTER={stem} REMOVE=1` takes it away again."""
STALE = """
notebooks/00_index.ipynb was run or changed since, so it stays as it is: `make normalise ARGS=00`"""


def main() -> int:
    """Makes or removes the chapter that the environment names; the exit status is 0 if it could."""
    stem, title = os.environ.get("CHAPTER", ""), os.environ.get("TITLE", "").strip()
    try:
        if os.environ.get("REMOVE"):
            print(remove(files.ROOT, stem))
        else:
            print(make(files.ROOT, stem, title))
    except NewError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def make(root: Path, stem: str, title: str) -> str:
    """Makes a chapter in the course at `root`; what is new or changed, and what is left to do.

    Raises: NewError, with a sentence, where it can't be made; then nothing has changed.
    """
    _require_name(stem)
    _require_place(root, stem)
    if not TITLE.fullmatch(title):
        raise NewError(f"Which title? A line without quotes, brackets, | or $, as in {EXAMPLE}")
    made = skeleton.files_of(stem, title)
    if there := [path for path in made if (root / path).exists()]:
        raise NewError(f"{stem} is there already: {', '.join(there)}. Nothing has changed.")
    listed = list(skeleton.lines_of(root, stem, title))
    before = (root / INDEX).read_text(encoding="utf-8")
    texts = made | {path: text for path, _, text in listed} | {INDEX: before}
    texts |= run_pages(root, stem, texts)
    change = Change(
        made={path: digest(texts[path]) for path in made},
        added={path: added for path, added, _ in listed},
        run={INDEX: (before, digest(texts[INDEX]))},
    )
    write(root, _note(root, stem), change, texts)
    lines = [f"{'new' if path in made else 'changed'}: {path}" for path in texts]
    return "\n".join([*lines, LEFT.format(number=stem[:2], stem=stem)])


def remove(root: Path, stem: str) -> str:
    """Takes away what `make` made; what was removed, and what is as it was before.

    Raises: NewError where somebody has worked on it since; then nothing has changed.
    """
    _require_name(stem)
    before = take_back(root, _note(root, stem))
    lines = [
        f"{'removed' if text is None else 'as before'}: {path}" for path, text in before.items()
    ]
    return "\n".join(lines if INDEX in before else [*lines, STALE])


def _note(root: Path, stem: str) -> Path:
    return root / "build" / "new" / f"{stem}.json"


def _require_name(stem: str) -> None:
    if not NAME.fullmatch(stem):
        raise NewError(f"Which chapter? Two digits and a name_in_small_letters, as in {EXAMPLE}")


def _require_place(root: Path, stem: str) -> None:
    """Raises NewError for a chapter that isn't on the list of the course, by number and name."""
    parts = json.loads((root / "data" / "course.json").read_text(encoding="utf-8"))
    designed = {row["file"][:2]: row["file"] for rows in parts.values() for row in rows}
    if stem[:2] not in designed:
        raise NewError(
            f"No chapter {stem[:2]} stands in data/course.json. Give it a row there first: its "
            "part, its title on the map, and what it comes after."
        )
    if designed[stem[:2]] != stem:
        raise NewError(f"Chapter {stem[:2]} is {designed[stem[:2]]} by data/course.json.")


def run_pages(root: Path, stem: str, texts: dict[str, str]) -> dict[str, str]:
    """The notebooks among `texts` as a run of them in a copy of the course stores them.

    Raises: NewError where one fails, or where the machine stays too busy to decide a claim.
    """
    with tempfile.TemporaryDirectory() as folder:
        ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        for name in COPIED:
            shutil.copytree(root / name, Path(folder, name), ignore=ignored)
        for path, text in texts.items():
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, path).write_text(text, encoding="utf-8")
        for _ in range(TRIES):
            run = _normalised(Path(folder), stem, [p for p in texts if p.endswith(".ipynb")])
            if not any("not decided" in text for text in run.values()):
                return run
    raise NewError("Nothing was made: other programs were busy while the page measured. Again?")


def _normalised(copy: Path, stem: str, pages: list[str]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "course_utils", "normalise", stem[:2], "00"],
        cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)}, stdout=sys.stderr,
    )  # fmt: skip
    if done.returncode:
        raise NewError("Nothing was made: a page doesn't run. What it said stands above.")
    return {path: (copy / path).read_text(encoding="utf-8") for path in pages}


if __name__ == "__main__":
    sys.exit(main())
