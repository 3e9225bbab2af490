"""The sections of a chapter, with the minutes that a class needs for each."""

import copy
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nbformat.v4 import new_markdown_cell

from course_utils.cli import notebooks
from course_utils.lesson import catalog

OPENING, EXERCISES, REMEMBER = "", "Exercises", "Remember"
WORDS_A_MINUTE, MINUTES_A_PREDICTION, MINUTES_A_CELL = 130, 1.5, 0.25
EXERCISE = re.compile(r"^> \*\*Exercise (\d+) · (.+?)\*\* \((\d+) minutes", re.M)


@dataclass
class Section:
    """A `##` heading of a chapter with its cells; the first cell begins with the heading.

    `minutes` are for the class: of all sections but the exercises, they sum to the chapter's.
    """

    title: str
    cells: list[Any]
    minutes: int = 0

    @property
    def text(self) -> str:
        return "\n\n".join(cell.source for cell in self.cells if cell.cell_type == "markdown")

    def exercises(self) -> dict[int, tuple[str, int]]:
        """Title and minutes of each exercise, by its number."""
        found = EXERCISE.findall(self.text)
        return {int(number): (title, int(minutes)) for number, title, minutes in found}


def of(path: Path) -> list[Section]:
    """The sections of a chapter in order. The first, without a title, is what precedes them."""
    found = [Section(OPENING, [])]
    for cell in notebooks.read(path).cells:
        if cell.cell_type != "markdown":
            found[-1].cells.append(cell)
            continue
        for n, text in enumerate(re.split(r"^(?=## )", cell.source, flags=re.M)):
            part = new_markdown_cell(text.rstrip(), metadata=copy.deepcopy(cell.metadata))
            part.id = f"{cell.id}-{n}" if n else cell.id
            if text.startswith("## "):
                found.append(Section(text.splitlines()[0][3:].strip(), []))
            if text.strip():
                found[-1].cells.append(part)
    _share_minutes(found, catalog.minutes_said(path))
    return found


def outline(path: Path) -> dict[str, tuple[int, dict[int, int]]]:
    """Minutes of each section of a chapter by title, and of its exercises by number."""
    return _outline(path, path.stat().st_mtime_ns)


@cache
def _outline(path: Path, _changed: int) -> dict[str, tuple[int, dict[int, int]]]:
    return {
        one.title: (one.minutes, {n: minutes for n, (_, minutes) in one.exercises().items()})
        for one in of(path)
    }


def _share_minutes(sections: list[Section], total: int) -> None:
    """Shares the chapter's minutes by words, predictions and visible code, in whole minutes."""
    taught = [one for one in sections if one.title != EXERCISES]
    needs = [_need(one) for one in taught]
    total, done, given = total or round(sum(needs)), 0.0, 0
    for section, need in zip(taught, needs, strict=True):
        done += need
        section.minutes = round(total * done / sum(needs)) - given
        given += section.minutes
    for section in sections:
        if section.title == EXERCISES:
            section.minutes = sum(minutes for _, minutes in section.exercises().values())


def _need(section: Section) -> float:
    code = [cell for cell in section.cells if cell.cell_type == "code"]
    asked = sum(len(re.findall(catalog.PREDICT, cell.source, re.M)) for cell in code)
    shown = sum(not notebooks.is_hidden(c) and not catalog.is_question(c.source) for c in code)
    words = len(section.text.split()) / WORDS_A_MINUTE
    return words + MINUTES_A_PREDICTION * asked + MINUTES_A_CELL * shown
