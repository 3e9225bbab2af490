"""The numbers that nothing on their page can print, each with the reason why it is right.

`tests/pages/prose_reasons.toml` has a table for each chapter: a stretch of the page, numbers and
all, and where they are from. When a number changes, the page has that stretch no more.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

from tests.support.prose.numbers import Number, numbers
from tests.support.prose.page import Page, Passage

FILE = Path(__file__).parents[2] / "pages" / "prose_reasons.toml"
_SHORTENED = re.compile(r"(?<!\w)\*\*|\*\*(?!\w)|\s+(?:>\s)?")


def of(chapter: str) -> dict[str, str]:
    """Each stretch of a chapter ("01"), and its reason."""
    return tomllib.loads(FILE.read_text(encoding="utf-8")).get(chapter, {})


def reason(number: Number, passage: Passage, reasons: dict[str, str]) -> str | None:
    """Why the number is right, if one of the stretches holds it."""
    text, places = _flat(passage.text)
    at = _place(places, number.start)
    for stretch, why in reasons.items():
        start = text.find(stretch)
        while start >= 0:
            if start <= at < start + len(stretch):
                return why
            start = text.find(stretch, start + 1)
    return None


def stale(page: Page, reasons: dict[str, str]) -> list[str]:
    """The stretches that are on the page no more, or hold no number, or have no reason."""
    texts = [_flat(passage.text)[0] for passage in page.passages]
    return [
        stretch
        for stretch, why in reasons.items()
        if not any(stretch in text for text in texts)
        or not numbers(stretch)
        or len(why.split()) < 2
    ]


@cache
def _flat(text: str) -> tuple[str, tuple[int, ...]]:
    """The text without bold marks and line ends, and where each of its letters was."""
    letters, places, end = [], [], 0
    for found in _SHORTENED.finditer(text):
        letters.append(text[end : found.start()])
        places += range(end, found.start())
        if found[0] != "**":
            letters.append(" ")
            places.append(found.start())
        end = found.end()
    letters.append(text[end:])
    places += range(end, len(text))
    return "".join(letters), tuple(places)


def _place(places: tuple[int, ...], start: int) -> int:
    return next(i for i, place in enumerate(places) if place >= start)
