"""`make plant`: errors of twelve kinds planted in a copy of the course, and how many a test sees.

CHAPTER=06 plants those of one chapter, ARGS="--kind prose" those kinds whose name has the word.
The tree itself is never touched; build/plant.json has it all. Where the whole is planted, fewer
than `--least` caught is a failure; so is a bug of bugs.toml whose text is gone.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

from course_utils.core import files
from tools.plant import bugs, kinds, pictures, published
from tools.plant.plants import Kind, Plant, choose
from tools.plant.trial import Result, judge_all

FILE = files.ROOT / "build" / "plant.json"
LEAST = 115
PAGE_RUN, STORED = ("batch", "static"), ("static",)


Finds = Callable[[str, str], Iterable[Plant]]


def kind(name: str, count: int, finds: Finds, judges: tuple[str, ...]) -> Kind:
    return Kind(name, count, partial(finds, name), judges)


ENLARGED = "a published figure changed by 20%"
OTHER_PICTURE, REVERSED = "another picture, or mirrored", "prose or a title reversed"
KINDS = (
    kind("a stored output changed", 14, kinds.outputs_changed, PAGE_RUN),
    kind("a claim turned round", 7, kinds.claims_turned, PAGE_RUN),
    kind("an output or a whole picture deleted", 7, kinds.outputs_deleted, PAGE_RUN),
    kind("a PNG alone deleted", 7, pictures.deleted, STORED),
    kind("a library or page bug", 25, bugs.bugs_of, ("tests", "page", "more tests")),
    kind(ENLARGED, 17, published.enlarged, ("static", "tests", "page")),
    kind("a blank picture", 12, pictures.blank, STORED),
    kind(OTHER_PICTURE, 8, pictures.exchanged, STORED),
    kind(OTHER_PICTURE, 7, pictures.mirrored, STORED),
    kind("a claim's bound loosened", 7, kinds.bounds_loosened, STORED),
    kind("a claim's sentence exaggerated", 7, kinds.sentences_exaggerated, STORED),
    kind("a number changed in prose", 7, kinds.numbers_in_prose, STORED),
    kind(REVERSED, 7, kinds.prose_reversed, STORED),
    kind(REVERSED, 7, kinds.titles_reversed, STORED),
)


def main(arguments: list[str]) -> int:
    """Plants what was asked for; the exit status is 0 where enough was caught."""
    options = _options(arguments)
    chapter = os.environ.get("CHAPTER")
    try:
        stem = files.chapter_path(chapter).stem if chapter else ""
    except LookupError as problem:
        print(problem.args[0])
        return 2
    results = [one for one in plan(options.seed) if options.kind in one.plant.kind]
    results = [one for one in results if stem in ("", one.plant.chapter)]
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
            | {"seen_by": one.seen_by, "said": one.said, "problem": one.problem}
            for one in results
        ],
    }
    files.write_whole(FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
