"""Syllabi: which sections of which chapters a class does, in which order, in how many minutes.

Each is a file `syllabi/NAME.toml`; INSTRUCTORS.md says what it holds.
"""

from pathlib import Path

import msgspec

from course_utils.cli import notebooks, sections
from course_utils.core import files
from course_utils.lesson import catalog

SYLLABI = files.ROOT / "syllabi"
OFF_BY, DAY_OFF_BY = 0.25, 0.05  # of the pages' minutes, and of a day's


class Part(msgspec.Struct, forbid_unknown_fields=True):
    """A chapter, or an activity such as a break, which has `minutes`.

    `sections` has the minutes of each; if it is empty, the class does the whole chapter in the
    page's minutes. `exercises` are the numbers of those that are solved in class.
    """

    chapter: str = ""
    sections: dict[str, int] = {}
    exercises: list[int] = []
    activity: str = ""
    minutes: int = 0
    day: int = 1

    @property
    def path(self) -> Path:
        """The chapter's notebook. Raises: LookupError if there is no such chapter."""
        return files.chapter_path(self.chapter)

    def plan(self) -> dict[str, int]:
        """The minutes of each section that is taught, the exercises among them."""
        found = sections.outline(self.path)
        plan = dict(self.sections) or {title: minutes for title, (minutes, _) in found.items()}
        plan.pop(sections.EXERCISES, None)
        if self.exercises:
            each = found[sections.EXERCISES][1]
            plan[sections.EXERCISES] = sum(each[number] for number in self.exercises)
        return plan

    def in_words(self) -> str:
        """One line for an overview."""
        if self.activity:
            return f"{self.activity} ({self.minutes} minutes)"
        plan = self.plan()
        several = "s" * (len(self.exercises) > 1)
        numbered = ", ".join(map(str, self.exercises))
        solved = f", exercise{several} {numbered}" if self.exercises else ""
        numbers = [title.split(".")[0] for title in self.sections if title[0].isdigit()]
        some = f", sections {', '.join(numbers)}" if numbers else ""
        title = next(one.title for one in catalog.chapters() if one.path == self.path)
        return f"{self.path.stem[:2]} · {title}{some}{solved} ({sum(plan.values())} minutes)"


class Syllabus(msgspec.Struct, forbid_unknown_fields=True):
    """A class: `days` has the minutes promised for each day, breaks included."""

    title: str
    days: list[int]
    part: list[Part]

    def by_day(self) -> list[tuple[str, list[Part]]]:
        """A title for each day, and its parts in order."""
        if len(self.days) == 1:
            return [(self.title, self.part)]
        numbers = range(1, len(self.days) + 1)
        return [
            (f"Day {day} · {self.title}", [one for one in self.part if one.day == day])
            for day in numbers
        ]


def names() -> list[str]:
    """The names of the syllabi."""
    return sorted(path.stem for path in SYLLABI.glob("*.toml"))


def read(name: str) -> Syllabus:
    """The syllabus of that name. Raises: NotebookError if it doesn't fit the pages, with why."""
    path = SYLLABI / f"{name}.toml"
    if name not in names():
        raise notebooks.NotebookError(f"No syllabus {name!r}. There are: {', '.join(names())}.")
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=Syllabus)
    except msgspec.DecodeError as error:
        raise notebooks.NotebookError(f"syllabi/{path.name}: {error}") from None
    if wrong := problems(found):
        raise notebooks.NotebookError("\n".join(f"syllabi/{path.name}: {one}" for one in wrong))
    return found


def problems(syllabus: Syllabus) -> list[str]:
    """Sentences about where a syllabus doesn't fit the pages; none if it does."""
    wrong = [text for part in syllabus.part if part.chapter for text in _unknown(part)]
    if wrong:
        return wrong
    taught: set[str] = set()
    spent = dict.fromkeys(range(1, len(syllabus.days) + 1), 0)
    after = {one.path: one.after for one in catalog.chapters()}
    for part in syllabus.part:
        if part.day not in spent:
            return [f"day {part.day} is none of the {len(spent)} in `days`"]
        if part.activity:
            spent[part.day] += part.minutes
            continue
        if missing := {*after[part.path]} - taught:
            wrong.append(f"{part.chapter} needs {', '.join(sorted(missing))} before it")
        taught.add(part.path.stem[:2])
        plan = part.plan()
        spent[part.day] += sum(plan.values())
        found = sections.outline(part.path)
        needed = sum(found[title][0] for title in part.sections)
        given = sum(part.sections.values())
        if abs(given - needed) > max(2, OFF_BY * needed):
            wrong.append(f"{part.chapter}: {given} minutes for sections that take {needed}")
    for day, promised in enumerate(syllabus.days, 1):
        if abs(spent[day] - promised) > DAY_OFF_BY * promised:
            wrong.append(f"day {day} takes {spent[day]} minutes, `days` promises {promised}")
    return wrong


def _unknown(part: Part) -> list[str]:
    try:
        found = sections.outline(part.path)
    except LookupError as error:
        return [str(error)]
    _, exercises = found.get(sections.EXERCISES, (0, {}))
    wrong = [f"{part.chapter} has no section {one!r}" for one in part.sections if one not in found]
    wrong += [f"{part.chapter} has no exercise {n}" for n in part.exercises if n not in exercises]
    if not wrong and sorted(part.sections, key=[*found].index) != [*part.sections]:
        wrong.append(f"{part.chapter}: its sections aren't in the order of the page")
    return wrong
