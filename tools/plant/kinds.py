"""The kinds of errors in a page's words and outputs: which it allows, and how each is planted.

Whoever errs also stores the page again. So a sentence, a bound or a title is changed in the source
and in the stored output alike: comparing the two can't see it.
"""

import ast
import re
from collections.abc import Callable, Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.core import files
from tools.plant import page as pages
from tools.plant import words
from tools.plant.page import Cell, Claim, Page
from tools.plant.plants import Plant

MOST = 40  # words of a line that are candidates
IGNORED = {"nbval-ignore-output", "nbval-skip", "raises-exception"}


def read(stem: str) -> Page:
    return Page(files.NOTEBOOKS / f"{stem}.ipynb")


def planted(
    kind: str, stem: str, cell: Cell, what: str, change: Callable[[Page, Cell], None]
) -> Plant:
    """A plant in one cell of a page."""

    def edit(root: Path) -> None:
        page = Page(root / "notebooks" / f"{stem}.ipynb")
        change(page, page.cell(cell["id"]))
        page.save()

    return Plant(kind, stem, cell["id"], what, edit)


def outputs_changed(kind: str, stem: str) -> Iterator[Plant]:
    """A word or a number of a stored output that isn't measured; the code stays."""
    for cell in _compared(read(stem)):
        stored = list(pages.texts(cell))
        for line in dict.fromkeys(line for text in stored for line in text.splitlines()):
            if sum(text.count(line) for text in stored) == 1:
                for old, new in _other_words(line):
                    changed = line.replace(old, new)
                    yield planted(kind, stem, cell, f"{old!r} → {new!r}", _output(line, changed))


def _other_words(line: str) -> Iterator[words.Change]:
    """Words and whole numbers that stand once in a line, and what takes their place."""
    shown = _measured().sub(" ", re.sub("<[^>]*>", " ", line))
    for word in re.findall(r"\b\d+\b|\b[a-z]{4,}\b", shown)[:MOST]:
        other = str(int(word) + 1) if word.isdigit() else word[::-1]
        if other != word and line.count(word) == 1:
            yield word, other


@cache
def _measured() -> re.Pattern[str]:
    """What comparing outputs leaves out."""
    parser = ConfigParser(interpolation=None)
    parser.read(files.ROOT / "tests" / "sanitise.cfg", encoding="utf-8")
    return re.compile(parser["measured"]["regex"])


def _output(old: str, new: str) -> Callable[[Page, Cell], None]:
    return lambda _page, cell: pages.change_texts(cell, lambda text: text.replace(old, new))


def outputs_deleted(kind: str, stem: str) -> Iterator[Plant]:
    """All that a cell has stored, a picture or its text."""

    def delete(_page: Page, cell: Cell) -> None:
        cell["outputs"] = []

    for cell in _compared(read(stem)):
        yield planted(kind, stem, cell, "all outputs deleted", delete)


def claims_turned(kind: str, stem: str) -> Iterator[Plant]:
    """A claim that says the opposite, above a stored output that is still the old one.

    Only claims that no later line of their cell needs: a claim that fails ends its cell.
    """
    for claim in read(stem).claims():
        body = claim.code.body
        ends = [n for n in body if isinstance(n, ast.Expr) and n.value is claim.call]
        later = body[body.index(ends[0]) + 1 :] if ends else []
        ends_its_cell = ends and all(isinstance(node, ast.Expr) for node in later)
        if ends_its_cell and claim.is_tested_here and (edit := _turned(claim)):
            yield planted(kind, stem, claim.cell, f"{_id(claim)} turned round", edit)


def _turned(claim: Claim) -> Callable[[Page, Cell], None] | None:
    sides = [side for side in ("above", "below") if claim.argument(side)]
    old = pages.segment(claim.cell, claim.call)
    condition = claim.argument("condition", 2)
    if len(sides) == 1:
        other = "below" if sides == ["above"] else "above"
        new = re.sub(rf"\b{sides[0]}=", f"{other}=", old)
    elif not sides and condition is not None and not isinstance(condition, ast.Lambda):
        text = pages.segment(claim.cell, condition)
        if old.count(text) != 1:
            return None
        new = old.replace(text, f"not ({text})")
    else:
        return None
    return lambda _page, cell: pages.replace_in_source(cell, old, new)


def bounds_loosened(kind: str, stem: str) -> Iterator[Plant]:
    """`above=3` becomes `above=0.3`, `x < 0.15` becomes `x < 1.5`; the stored line says so too."""
    for claim in read(stem).claims():
        for node, is_lower in _bounds(claim):
            old, before = node.value, pages.segment(claim.cell, node)
            new = float(f"{old * (0.1 if is_lower else 10):.12g}")
            edit = _loosened(claim, node, old, new)
            yield planted(kind, stem, claim.cell, f"{_id(claim)}: {before} → {new:g}", edit)


def _bounds(claim: Claim) -> Iterator[tuple[Any, bool]]:
    """The numbers that a claim holds its value against: (node, whether it is a lower bound)."""
    for side in ("above", "below"):
        given = claim.argument(side)
        if _is_positive(given):
            yield given, side == "above"
    condition = claim.argument("condition", 2)
    for node in ast.walk(condition) if condition else ():
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                if isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
                    greater = isinstance(op, ast.Gt | ast.GtE)
                    if _is_positive(left):
                        yield left, not greater
                    elif _is_positive(right):
                        yield right, greater


def _is_positive(node: ast.expr | None) -> bool:
    number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return number and node.value > 0  # type: ignore[union-attr]


def _loosened(claim: Claim, node: ast.expr, old: float, new: float) -> Callable[[Page, Cell], None]:
    def line_again(line: str) -> str:
        if claim.sentence is None or not line[2:].startswith(claim.sentence):
            return line
        head, tail = line[: 2 + len(claim.sentence)], line[2 + len(claim.sentence) :]
        tail = re.sub(rf"(?<![\d.]){re.escape(f'{old:.3g}')}(?![\d.])", f"{new:.3g}", tail, count=1)
        margin = re.compile(r"(margin (?:≈ )?)([\d.,e+]+)")
        return head + margin.sub(lambda m: f"{m[1]}{10 * words.float_of(m[2]):.2g}", tail)

    def edit(_page: Page, cell: Cell) -> None:
        pages.replace_node(cell, node, f"{new:g}")
        pages.change_texts(cell, lambda t: "".join(map(line_again, t.splitlines(keepends=True))))

    return edit


def sentences_exaggerated(kind: str, stem: str) -> Iterator[Plant]:
    """A claim's sentence says ten times as much; its condition stays."""
    for claim in read(stem).claims():
        for old, new in words.exaggerations(claim.sentence or ""):
            call = pages.segment(claim.cell, claim.call)
            if call.count(old) == 1:
                text = call.replace(old, new)
                yield planted(kind, stem, claim.cell, shown(old, new), _said(call, text, old, new))


def _said(old: str, new: str, words_before: str, words_after: str) -> Callable[[Page, Cell], None]:
    def edit(_page: Page, cell: Cell) -> None:
        pages.replace_in_source(cell, old, new)
        pages.replace_in_outputs(cell, words_before, words_after)

    return edit


def numbers_in_prose(kind: str, stem: str) -> Iterator[Plant]:
    """A quantity in the text of a page, a fifth larger."""
    for cell in read(stem).prose:
        for sentence in words.sentences(pages.source(cell)):
            yield from _in_prose(kind, stem, cell, words.other_numbers(sentence))


def prose_reversed(kind: str, stem: str) -> Iterator[Plant]:
    """A sentence of the page that compares says the opposite."""
    for cell in read(stem).prose:
        for sentence in filter(words.compares, words.sentences(pages.source(cell))):
            yield from _in_prose(kind, stem, cell, words.reversals(sentence, negations=False))


def _in_prose(kind: str, stem: str, cell: Cell, changes: Iterator[words.Change]) -> Iterator[Plant]:
    for old, new in changes:
        if pages.source(cell).count(old) == 1:
            yield planted(kind, stem, cell, shown(old, new), _said(old, new, old, new))


def titles_reversed(kind: str, stem: str) -> Iterator[Plant]:
    """A figure's title says the opposite, in the source and in what is stored of the figure."""
    for cell in read(stem).code:
        title = pages.title(cell)
        if title and pages.source(cell).count(title) == 1:
            for old, new in words.reversals(title):
                yield planted(kind, stem, cell, shown(old, new), _said(old, new, old, new))


def shown(old: str, new: str) -> str:
    """The words that differ, with one beside them."""
    a, b = old.split(), new.split()
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a) - 1)
    back = next((i for i, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=False)) if x != y), 0)
    first = max(same - 2, 0)
    return f"“{' '.join(a[first : len(a) - back + 2])}” → “{' '.join(b[same : len(b) - back])}”"


def _id(claim: Claim) -> str:
    return str(getattr(claim.call.args[0], "value", "a claim")) if claim.call.args else "a claim"


def _compared(page: Page) -> list[Cell]:
    """Cells with an output that nbval compares."""
    tags = [set(cell["metadata"].get("tags", [])) for cell in page.code]
    return [c for c, t in zip(page.code, tags, strict=True) if c["outputs"] and not t & IGNORED]
