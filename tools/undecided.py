"""A pytest plugin: forgives in nbval's comparison what may differ, and finds what it misses.

An undecided claim is no failure of its page. A fresh line `– SENTENCE: not decided, …` counts as
the stored line `✓ SENTENCE …` in its place, and the summary names it. Nothing else is forgiven: not
another sentence, nor a stored line that isn't a ✓, nor a fresh ✗.

nbval compares no pictures. Where a figure's text has nothing that varies, its picture must be the
stored one, but for a few pixels.
"""

import base64
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from nbval.plugin import IPyNbCell
from PIL import Image, ImageChops

UNDECIDED = re.compile(r"– (?P<sentence>.+): (?P<why>not decided, .+)")
PNG = "image/png"
DARKER, FEW_PIXELS = 64, 20  # grey levels that count as another colour; pixels that may
PROPERTY = "undecided claim"  # of a cell's report, so that it comes through xdist and into JUnit


def pytest_itemcollected(item: pytest.Item) -> None:
    """Puts what forgives before the comparison of every cell."""
    if isinstance(item, IPyNbCell):
        item.compare_outputs = partial(compare, item, item.compare_outputs)


def compare(cell: Any, strictly: Callable[..., bool], fresh: list[Any], stored: list[Any]) -> bool:
    """nbval's comparison, `strictly`, after undecided claims have been taken for what is stored."""
    kept = {output.name: output.text for output in stored if output.output_type == "stream"}
    for output in fresh:
        if output.output_type == "stream":
            text, undecided = decided(output.text, kept.get(output.name, ""), cell.sanitize)
            cell.user_properties += [(PROPERTY, said) for said in undecided]
            output.text = text
    for new, old in zip(fresh, stored, strict=False):
        if problem := picture_problem(new.get("data", {}), old.get("data", {})):
            cell.comparison_traceback = [problem]  # what nbval shows of a cell that differs
            return False
    return strictly(fresh, stored)


def picture_problem(fresh: dict[str, str], stored: dict[str, str]) -> str:
    """The problem of the fresh picture of an exact figure, or ""."""
    if PNG not in fresh or PNG not in stored or "≈" in stored.get("text/plain", "≈"):
        return ""
    new, old = (_image(data[PNG]) for data in (fresh, stored))
    if new.size != old.size:
        return f"The picture has {new.size} pixels, the stored one {old.size}."
    differing = sum(ImageChops.difference(new, old).convert("L").histogram()[DARKER:])
    if differing <= FEW_PIXELS:
        return ""
    return f"The picture differs from the stored one in {differing} pixels."


def _image(png: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")


def decided(fresh: str, stored: str, sanitize: Callable[[str], str] = str) -> tuple[str, list[str]]:
    """The fresh text with the stored line for each claim that wasn't decided; and those claims.

    Lines are compared one by one: where their numbers differ the page differs in more than that.
    """
    lines, undecided = fresh.splitlines(keepends=True), []
    for number, (new, old) in enumerate(zip(lines, stored.splitlines(keepends=True), strict=False)):
        found = UNDECIDED.fullmatch(new.rstrip("\n"))
        if found and _held(sanitize(found["sentence"]), sanitize(old.rstrip("\n"))):
            lines[number] = old
            undecided.append(f"{found['sentence']} ({found['why']})")
    return "".join(lines), undecided


def _held(sentence: str, stored: str) -> bool:
    """Whether the stored line says that the claim held, with or without what was got."""
    return stored == f"✓ {sentence}" or stored.startswith(f"✓ {sentence} (")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Names the claims that weren't decided, each with its page and cell."""
    said = list(dict.fromkeys(_undecided(terminalreporter.stats)))
    if said:
        terminalreporter.section("claims that were not decided")
        for line in said:
            terminalreporter.write_line(line)


def _undecided(stats: dict[str, list[Any]]) -> Iterator[str]:
    for reports in stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY:
                    yield f"– {report.nodeid}: {value}"
