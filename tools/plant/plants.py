"""One planted error, and which errors a run plants: so many of each kind, spread over the pages."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Edit = Callable[[Path], None]


@dataclass(frozen=True)
class Plant:
    """An error that stands in a copy of the course once `edit(copy)` was called.

    `place` is the cell's id, or the file; `what` says in a few words what was changed. `tests` are
    test files that come before and after the run of the page, where the page is run at all.
    """

    kind: str
    chapter: str
    place: str
    what: str
    edit: Edit
    tests: tuple[str, ...] = ()
    more_tests: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.chapter[:2]} {self.place}: {self.what}"


@dataclass(frozen=True)
class Kind:
    """A kind of error: how many are planted, what finds those that a chapter allows, who judges.

    `judges` are asked in this order, until one sees the error: "static" (the tests of stored
    pages), "tests" (the plant's own), "page" (the page is run), "batch" (a run of the page with all
    plants of this sort at once, each in its own cell), "more tests".
    """

    name: str
    count: int
    candidates: Callable[[str], Iterable[Plant]]
    judges: tuple[str, ...]


def choose(kinds: Sequence[Kind], chapters: Sequence[str], seed: int = 0) -> list[Plant]:
    """As many plants of each kind as it wants, the chapters in turn, the same for the same seed.

    No two are in the same place, where there are places enough.
    """
    chosen: list[Plant] = []
    taken: set[tuple[str, str]] = set()
    for kind in kinds:
        waiting = {chapter: _shuffled(kind, chapter, seed) for chapter in chapters}
        found: list[Plant] = []
        order = random.Random(f"{seed} {kind.name}").sample(chapters, len(chapters))
        while len(found) < kind.count and any(waiting.values()):
            for chapter in order:
                if waiting[chapter] and len(found) < kind.count:
                    found.append(_next(waiting[chapter], taken))
        chosen += found
    return chosen


def _shuffled(kind: Kind, chapter: str, seed: int) -> list[Plant]:
    found = list(kind.candidates(chapter))
    random.Random(f"{seed} {kind.name} {chapter}").shuffle(found)
    return found


def _next(waiting: list[Plant], taken: set[tuple[str, str]]) -> Plant:
    free = [plant for plant in waiting if (plant.chapter, plant.place) not in taken]
    plant = (free or waiting)[0]
    waiting.remove(plant)
    taken.add((plant.chapter, plant.place))
    return plant
