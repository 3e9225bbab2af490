"""The check itself: each number of a page's passages, and what stands behind it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose, log

from course_utils.core import files
from tests.support.prose import arithmetic, evidence, formulas, reasons
from tests.support.prose.evidence import Source
from tests.support.prose.matching import agrees
from tests.support.prose.numbers import Number, numbers
from tests.support.prose.page import Page, Passage

NEAR_BARE = {0.0, 1.0}
ROUND = {*map(float, range(10, 17)), 24.0, 25.0, 32.0, 48.0, 64.0, 96.0, 1.5, 2.5, 0.25, 0.15}
FOUND, LIVE, NOTHING, UNSAID = "found", "live", "nothing", "unsaid"


@dataclass(frozen=True)
class Verdict:
    """What was found behind one number: "found", only "live" values, "nothing", or, for a number
    in words of which no evidence speaks, "unsaid"."""

    number: Number
    passage: Passage
    outcome: str
    source: Source | None = None
    reason: str | None = None

    @property
    def resolved(self) -> bool:
        return self.outcome in (FOUND, UNSAID)


class Checker:
    """One page, its evidence gathered once."""

    def __init__(self, page: Page, given: dict[str, str] | None = None) -> None:
        self.page = page
        self.reasons = reasons.of(page.name[:2]) if given is None else given
        self.coded = {i: list(evidence.of_code(c, page)) for i, c in page.cells.items()}
        self.shown = {i: list(self._shown(i)) for i in page.cells}
        self.said = {i: list(evidence.of_sentences(c)) for i, c in page.cells.items()}
        self.written = formulas.plain("\n".join(c.source for c in page.cells.values()))
        bare = (cell.without_sentences(cell.source) for cell in page.cells.values())
        self.formulas = formulas.plain("\n".join(bare))
        self.course = list(_of_course(page.name))

    def _shown(self, index: int) -> Iterator[Source]:
        yield from evidence.of_output(self.page.cells[index])
        yield from evidence.of_data(self.page.cells[index])

    def verdicts(self, passage: Passage, start: int | None = None) -> list[Verdict]:
        """One for each number of the passage, or for the one at `start`."""
        specs = list(evidence.of_specs(passage.text))
        found = numbers(passage.text)
        proved = arithmetic.proved(passage.text, found)
        return [
            self._verdict(number, passage, specs, number.start in proved)
            for number in found
            if start in (None, number.start)
        ]

    def _verdict(
        self, number: Number, passage: Passage, specs: list[Source], proved: bool
    ) -> Verdict:
        if why := reasons.reason(number, passage, self.reasons):
            return Verdict(number, passage, FOUND, reason=why)
        if proved or self._is_code(number, passage):
            return Verdict(number, passage, FOUND)
        own = self._own(passage)
        for source in own:
            if agrees(number, source, bound=passage.kind == "claim"):
                return Verdict(number, passage, FOUND, source)
        sources = [*self._sources(number, passage), *specs]
        behind = [s for s in sources if agrees(number, s) and _bound(number, s, passage)]
        solid = [source for source in behind if not source.live]
        if solid:
            return Verdict(number, passage, FOUND, solid[0])
        if number.word and (passage.whole or not self._speaks(number, sources, passage)):
            return Verdict(number, passage, UNSAID)
        return Verdict(number, passage, LIVE if behind else NOTHING, next(iter(behind), None))

    def _speaks(self, number: Number, sources: list[Source], passage: Passage) -> bool:
        """Whether what stands beside the passage counts the same things, and never so many."""
        near = [source for source in sources if source.cell in passage.near]
        known = any(number.counted in source.labels for source in near)
        return known and not any(agrees(number, source) for source in near)

    def nearest(self, verdict: Verdict, most: int = 3) -> list[Source]:
        """What the evidence beside a number holds that is most like it."""
        number, passage = verdict.number, verdict.passage
        sources = [s for s in self._sources(number, passage) if not s.live]
        same = [s for s in sources if number.labels & s.labels or number.kind == s.kind is not None]
        ranked = sorted(same, key=lambda source: _distance(number, source))
        return list({(s.written, s.where): s for s in ranked}.values())[:most]

    def _is_code(self, number: Number, passage: Passage) -> bool:
        """Whether the formula or the piece of code that it belongs to stands in the page's code."""
        if any(piece in self.formulas for piece in formulas.pieces(number, passage.text)):
            return True
        repeated = self.written.count(formulas.plain(passage.text)) > 1
        return passage.kind == "title" and repeated

    def _sources(self, number: Number, passage: Passage) -> list[Source]:
        cells = dict.fromkeys([*passage.near, *passage.section])
        if passage.whole or number.rare:
            cells |= dict.fromkeys(self.page.cells)
        found = [s for i in cells for s in (*self.shown[i], *self.coded[i])]
        if passage.kind == "prose":
            found += [source for i in cells for source in self.said[i]]
        return found + (self.course if passage.whole else [])

    def _own(self, passage: Passage) -> list[Source]:
        """For a claim or a title: its own statement, and what the names in it stand for."""
        cell = self.page.cells.get(passage.index)
        if cell is None or passage.node is None:
            return []
        parts = [p for p in ast.iter_child_nodes(passage.node) if p not in passage.said]
        names = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
        for at in passage.section:
            if at <= passage.index:
                parts += _given(self.page.cells[at].tree, names)
        return [s for part in parts for s in evidence.of_code(cell, self.page, part)]


def _given(tree: ast.AST, names: set[str]) -> Iterator[ast.expr]:
    """What the code gives to these names."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.NamedExpr)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            inner = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            if inner & names:
                yield node.value


def _bound(number: Number, source: Source, passage: Passage) -> bool:
    """Whether it is more than chance that the two are the same."""
    if number.rare or (number.kind is not None and number.kind == source.kind):
        return True
    near = source.cell in (-1, *passage.near)
    in_formula = formulas.formula(number, passage.text) is not None
    exact = source.kind is None and isclose(source.value, number.value)
    if exact and number.value and (number.scaled or (near and number.kind == "share")):
        return True
    if near and number.kind is None and _usual_or_odd(number.mantissa) and not in_formula:
        return True
    return (near or passage.whole or source.rounds) and bool(number.labels & source.labels)


def _usual_or_odd(mantissa: float) -> bool:
    """Whether the same number in the next cell needs no word: 0 and 1 stand for themselves, and
    of two digits one that isn't round, such as 0.98 or 53, is rarely there by chance."""
    digits = f"{mantissa:g}".replace(".", "").strip("0")
    return mantissa in NEAR_BARE or (len(digits) == 2 and mantissa not in ROUND)


def _distance(number: Number, source: Source) -> float:
    """How many times one is the other, as a logarithm."""
    pair = abs(number.value), abs(source.value)
    return abs(log(pair[0] / pair[1])) if all(pair) else 99.0


def _of_course(name: str) -> Iterator[Source]:
    """What the front pages say of the chapter's minutes."""
    for front in ("README.md", "INSTRUCTORS.md"):
        for line in (files.ROOT / front).read_text(encoding="utf-8").splitlines():
            if name in line or line.startswith(f"| {name[:2]} |"):
                for entry in re.findall(r"\|\s*(\d+(?: \+ \d+)?)\s*(?=\|)", line):
                    for minutes in re.findall(r"\d+", entry):
                        labels = frozenset({"minute", "exercise"})
                        yield Source(60.0 * int(minutes), "time", front, -1, labels, 60.0)
