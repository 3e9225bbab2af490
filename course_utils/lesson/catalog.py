"""The chapters of the course from data/course.json, and what their notebooks contain."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.core import files

EXERCISE = "exercise-"  # so begins the id of a cell that holds one
OF_THE_COURSE = re.compile(r"(?![0-9a-f]{8}(?:-|$))[a-z][a-z0-9]*(?:-[a-z0-9]+)*")  # a cell's id
PREDICT = r'^predict\(\s*"([\w.]+)"'


@dataclass(frozen=True)
class Chapter:
    """A chapter; `after` has the numbers of the chapters that it builds on."""

    number: str
    stem: str
    title: str
    part: str
    after: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return files.NOTEBOOKS / f"{self.stem}.ipynb"

    @property
    def minutes(self) -> int:
        """Minutes to read and run, without exercises, as the first cell says; 0 if it doesn't."""
        return minutes_said(self.path)

    def cells_before_the_exercises(self) -> list[str]:
        """Ids of the code cells that are neither exercises nor only predictions.

        Cells that the reader inserted don't count: editors give them random ids, and the course's
        ids are words.
        """
        cells = [c for c in code_cells(self.path) if not is_question(c["source"])]
        ids = [c["id"] for c in cells if OF_THE_COURSE.fullmatch(c["id"])]
        return [id for id in ids if not id.startswith(EXERCISE)]

    def exercises(self) -> list[str]:
        """The names of the chapter's exercises, read from its solutions' notebook."""
        worked = code_cells(files.SOLUTIONS / self.path.name)
        found = (re.findall(r'^check\("([\w.]+)"', cell["source"], re.M) for cell in worked)
        return [name for names in found for name in names]

    def predictions(self) -> list[str]:
        """The ids of the chapter's prediction questions."""
        found = (re.findall(PREDICT, cell["source"], re.M) for cell in code_cells(self.path))
        return [id for ids in found for id in ids]


def chapters() -> list[Chapter]:
    """All chapters in order. Raises: OSError, ValueError if data/course.json is broken."""
    parts = json.loads((files.DATA / "course.json").read_text(encoding="utf-8"))
    return [
        Chapter(row["file"][:2], row["file"], row["title"], part, tuple(row["after"]))
        for part, rows in parts.items()
        for row in rows
    ]


def minutes_said(path: Path) -> int:
    """Minutes to read and run, as the first cell of a notebook says; 0 if it doesn't."""
    found = re.search(r"^(\d+) minutes\b", "".join(_read(path)["cells"][0]["source"]), re.M)
    return int(found[1]) if found else 0


def is_question(source: str) -> bool:
    """True for the source of a cell of predictions."""
    return bool(re.match(PREDICT, source))


def code_cells(path: Path) -> list[dict[str, Any]]:
    """The code cells of a notebook's file, with `source` as one string."""
    cells = [cell for cell in _read(path)["cells"] if cell["cell_type"] == "code"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def _read(path: Path) -> dict[str, Any]:
    return _parse(path, path.stat().st_mtime_ns)


@cache
def _parse(path: Path, _changed: int) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
