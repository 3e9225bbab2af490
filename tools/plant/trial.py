"""The trial: each error is planted, its judges are asked, and it is taken back."""

import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from course_utils.core import files
from tools.plant.judges import Judges
from tools.plant.page import CantPlant, Page
from tools.plant.plants import Plant
from tools.plant.working_copy import Copy


@dataclass(eq=False)
class Result:
    """What became of a plant: which checks saw it, what the first said; why it isn't planted."""

    plant: Plant
    judges: tuple[str, ...]
    seen_by: list[str] = field(default_factory=list)
    said: str = ""
    problem: str | None = None


def judge_all(results: list[Result]) -> dict[str, list[str]]:
    """Fills in who sees each plant; what fails on the clean copy, by judge and chapter."""
    with tempfile.TemporaryDirectory(prefix="plant-") as folder:
        copy = Copy(Path(folder))
        judges = Judges(copy)
        progress = Progress(len(results))
        try:
            for group in batches(results):
                judge_batch(group, judges)
                progress.done(filter(_is_decided, group))
            for one in results:
                if not _is_decided(one):
                    judge(one, judges)
                    progress.done([one])
        finally:
            judges.close()
    return {f"{what}, {chapter}": found for (what, chapter), found in judges.clean.items() if found}


def batches(results: Iterable[Result]) -> Iterator[list[Result]]:
    """Plants that one run of their page can judge, each in a cell of its own."""
    waiting = [one for one in results if "batch" in one.judges]
    while waiting:
        group: dict[str, Result] = {}
        for one in waiting:
            if one.plant.chapter == waiting[0].plant.chapter:
                group.setdefault(one.plant.place, one)
        yield list(group.values())
        waiting = [one for one in waiting if one not in group.values()]


def judge_batch(group: list[Result], judges: Judges) -> None:
    """Runs a page with several plants; each is seen where its own cell fails."""
    chapter = group[0].plant.chapter
    judges.look_at_clean("page", chapter)
    planted = [one for one in group if _plant(one, judges.copy)]
    failed = judges.page(chapter)
    judges.copy.restore()
    number = {c["id"]: f"Cell {n}" for n, c in enumerate(Page(_notebook(chapter)).code)}
    for one in planted:
        one.seen_by = [name for name in failed if name == number[one.plant.place]]
        one.said = judges.said.get(number[one.plant.place], "") if one.seen_by else ""


def judge(one: Result, judges: Judges) -> None:
    """Asks the plant's judges, one after the other, until one sees it."""
    plant = one.plant
    for what in one.judges:
        if what in ("static", "page"):
            judges.look_at_clean(what, plant.chapter)
        if what == "batch" or not _plant(one, judges.copy):
            continue
        if what == "static":
            one.seen_by = judges.static(plant.chapter)
        elif what == "page":
            one.seen_by = judges.page(plant.chapter, to_the_end=False)
        else:
            one.seen_by = judges.tests(plant.tests if what == "tests" else plant.more_tests)
        one.said = judges.said.get(one.seen_by[0], "") if one.seen_by else ""
        judges.copy.restore()
        if "tests" in what and one.seen_by and judges.tests(_again(one.seen_by)):
            one.seen_by = []  # it fails without the plant too
        if one.seen_by:
            return


def _again(names: list[str]) -> list[str]:
    """What pytest is given to ask the same tests again, in all their cases."""
    return [name.partition("[")[0] for name in names if "::" in name]


def _is_decided(one: Result) -> bool:
    return bool(one.seen_by or one.problem)


def _plant(one: Result, copy: Copy) -> bool:
    try:
        copy.plant(one.plant)
    except CantPlant as problem:
        copy.restore()
        one.problem = str(problem)
    return one.problem is None


def _notebook(chapter: str) -> Path:
    return files.NOTEBOOKS / f"{chapter}.ipynb"


class Progress:
    """A line for each plant that was judged."""

    def __init__(self, count: int) -> None:
        self.count, self.judged, self.began = count, 0, time.monotonic()

    def done(self, results: Iterable[Result]) -> None:
        for one in results:
            self.judged += 1
            minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
            print(
                f"[{self.judged}/{self.count}, {minutes}:{seconds:02d}] {one.plant.kind} · "
                f"{one.plant}: {_outcome(one)}",
                flush=True,
            )


def _outcome(one: Result) -> str:
    if one.problem:
        return f"NOT PLANTED: {one.problem}"
    if not one.seen_by:
        return "ESCAPED"
    more = f" and {len(one.seen_by) - 1} more" if len(one.seen_by) > 1 else ""
    return f"seen by {one.seen_by[0]}{more}" + (f" ({one.said})" if one.said else "")
