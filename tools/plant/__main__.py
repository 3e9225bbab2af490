"""`make plant`: errors of twelve kinds planted in a copy of the course, and how many a test sees.

CHAPTER=06 plants those of one chapter, ARGS="--kind prose" those kinds whose name has the word.
The tree itself is never touched; build/plant.json has it all. Where the whole is planted, fewer
than `--least` caught is a failure; so is a bug of bugs.toml whose text is gone.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from course_utils.core import files
from tools.plant import code, kinds
from tools.plant.copy import Copy
from tools.plant.judges import Judges
from tools.plant.page import CantPlant, Page
from tools.plant.plants import Kind, Plant, choose

FILE = files.ROOT / "build" / "plant.json"
LEAST = 115
PAGE_RUN, STORED = ("batch", "static"), ("static",)


def kind(name: str, count: int, candidates: object, judges: tuple[str, ...]) -> Kind:
    return Kind(name, count, partial(candidates, name), judges)  # type: ignore[arg-type]


OTHER_PICTURE, REVERSED = "another picture, or mirrored", "prose or a title reversed"
KINDS = (
    kind("a stored output changed", 14, kinds.outputs_changed, PAGE_RUN),
    kind("a claim turned round", 7, kinds.claims_turned, PAGE_RUN),
    kind("an output or a whole picture deleted", 7, kinds.outputs_deleted, PAGE_RUN),
    kind("a PNG alone deleted", 7, kinds.pictures_deleted, STORED),
    kind("a library or page bug", 25, code.bugs_of, ("tests", "page", "more tests")),
    kind(
        "a published figure changed by 20%", 17, code.published_changed, ("static", "tests", "page")
    ),
    kind("a blank picture", 12, kinds.pictures_blank, STORED),
    kind(OTHER_PICTURE, 8, kinds.pictures_exchanged, STORED),
    kind(OTHER_PICTURE, 7, kinds.pictures_mirrored, STORED),
    kind("a claim's bound loosened", 7, kinds.bounds_loosened, STORED),
    kind("a claim's sentence exaggerated", 7, kinds.sentences_exaggerated, STORED),
    kind("a number changed in prose", 7, kinds.numbers_in_prose, STORED),
    kind(REVERSED, 7, kinds.prose_reversed, STORED),
    kind(REVERSED, 7, kinds.titles_reversed, STORED),
)


@dataclass(eq=False)
class Result:
    """What became of a plant: which checks saw it, or why it couldn't be planted."""

    plant: Plant
    judges: tuple[str, ...]
    seen_by: list[str] = field(default_factory=list)
    problem: str | None = None


def main(arguments: list[str]) -> int:
    """Plants what was asked for; the exit status is 0 where enough was caught."""
    options = _options(arguments)
    try:
        chapter = os.environ.get("CHAPTER")
        stems = (
            [files.chapter_path(chapter).stem] if chapter else [p.stem for p in files.chapters()]
        )
    except LookupError as problem:
        print(problem.args[0])
        return 2
    results = [one for one in plan(options.seed) if one.plant.chapter in stems]
    results = [one for one in results if options.kind in one.plant.kind]
    whole = not (chapter or options.kind)
    if options.list:
        print(*(f"{one.plant.kind} · {one.plant}" for one in results), sep="\n")
        return 0
    clean = judge_all(results)
    _keep(results, clean, options.seed)
    print(as_text(results))
    least = options.least if options.least is not None else LEAST * whole
    caught = sum(bool(one.seen_by) for one in results)
    unplanted = [one for one in results if one.problem]
    if caught < least:
        print(f"{caught} were caught, at least {least} should be.")
    return int(caught < least or bool(unplanted))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make plant", description=__doc__)
    parser.add_argument("--kind", default="", help="kinds whose name has this in it: prose, bug")
    parser.add_argument("--least", type=int, help=f"that many must be caught ({LEAST} of all)")
    parser.add_argument("--seed", type=int, default=0, help="another number: other places")
    parser.add_argument("--list", action="store_true", help="say what would be planted, and where")
    return parser.parse_args(arguments)


def plan(seed: int) -> list[Result]:
    """All plants of a run, and who judges each."""
    judges = {one.name: one.judges for one in KINDS}
    chosen = choose(KINDS, [path.stem for path in files.chapters()], seed)
    return [Result(plant, judges[plant.kind]) for plant in chosen]


def judge_all(results: list[Result]) -> dict[str, list[str]]:
    """Fills in who sees each plant; what fails on the clean copy, by judge and chapter."""
    with tempfile.TemporaryDirectory(prefix="plant-") as folder:
        copy = Copy(Path(folder))
        judges = Judges(copy)
        progress = Progress(len(results))
        try:
            for group in batches(results):
                judge_batch(group, judges)
                progress.done(group)
            for one in results:
                if not one.seen_by and not one.problem:
                    judge(one, judges)
                if "batch" not in one.judges:
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
        judges.copy.restore()
        if "tests" in what and one.seen_by and judges.tests(one.seen_by):
            one.seen_by = []  # it fails without the plant too
        if one.seen_by:
            return


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
        return "escaped so far" if "batch" in one.judges else "ESCAPED"
    more = f" and {len(one.seen_by) - 1} more" if len(one.seen_by) > 1 else ""
    return f"seen by {one.seen_by[0]}{more}"


def as_text(results: list[Result]) -> str:
    """The table of kinds, then what escaped."""
    names = list(dict.fromkeys(one.name for one in KINDS))
    rows = []
    for name in names:
        tried = [one for one in results if one.plant.kind == name and not one.problem]
        if tried:
            rows.append((name, sum(bool(one.seen_by) for one in tried), len(tried)))
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    width = max(len(row[0]) for row in rows)
    lines = ["", f"{'planted':{width}}  caught", *(f"{n:{width}}  {c}/{t}" for n, c, t in rows)]
    for title, some in (
        ("Escaped", [one for one in results if not one.seen_by and not one.problem]),
        ("Not planted", [one for one in results if one.problem]),
    ):
        lines += ["", f"{title}:"] if some else []
        lines += [f"  {one.plant.kind} · {one.plant} {one.problem or ''}".rstrip() for one in some]
    return "\n".join(lines)


def _keep(results: list[Result], clean: dict[str, list[str]], seed: int) -> None:
    content = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "fails_on_the_clean_copy": clean,
        "plants": [
            {name: getattr(one.plant, name) for name in ("kind", "chapter", "place", "what")}
            | {"seen_by": one.seen_by, "problem": one.problem}
            for one in results
        ],
    }
    files.write_whole(FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
