"""The check itself: each number of a page's passages, and what stands behind it."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.core import files
from tests.support.prose import arithmetic, evidence
from tests.support.prose.evidence import Source
from tests.support.prose.matching import agrees
from tests.support.prose.numbers import Number, numbers
from tests.support.prose.page import Page, Passage

FOUND, LIVE, NOTHING, UNSAID = "found", "live", "nothing", "unsaid"


@dataclass(frozen=True)
class Verdict:
    """What was found behind one number: "found", only "live" values, "nothing", or, for a number
    in words of which no evidence speaks, "unsaid"."""

    number: Number
    passage: Passage
    outcome: str
    source: Source | None = None

    @property
    def resolved(self) -> bool:
        return self.outcome in (FOUND, UNSAID)


class Checker:
    """One page, its evidence gathered once."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.by_cell = {i: list(self._of(i)) for i in page.cells}
        self.said = {i: list(evidence.of_sentences(c)) for i, c in page.cells.items()}
        self.course = list(_of_course(page.name))

    def _of(self, index: int) -> Iterator[Source]:
        cell = self.page.cells[index]
        yield from evidence.of_code(cell, self.page)
        yield from evidence.of_output(cell)
        yield from evidence.of_data(cell)

    def verdicts(self, passage: Passage) -> Iterator[Verdict]:
        """One for each number of the passage."""
        specs = list(evidence.of_specs(passage.text))
        for number in numbers(passage.text):
            yield self.verdict(number, passage, specs)

    def verdict(self, number: Number, passage: Passage, specs: list[Source]) -> Verdict:
        if arithmetic.follows(number, passage.text):
            return Verdict(number, passage, FOUND)
        sources = [*self._candidates(number, passage), *specs]
        behind = [source for source in sources if agrees(number, source)]
        solid = [s for s in behind if not s.live and self._near(number, s, passage)]
        if solid:
            return Verdict(number, passage, FOUND, solid[0])
        if number.word and not self._speaks(number, sources):
            return Verdict(number, passage, UNSAID)
        live = [source for source in behind if source.live]
        return Verdict(number, passage, LIVE if live else NOTHING, live[0] if live else None)

    def _candidates(self, number: Number, passage: Passage) -> list[Source]:
        if passage.call is not None:
            return self._of_claim(passage)
        cells = self._reach(number, passage)
        found = [source for i in cells for source in self.by_cell[i]]
        if passage.kind == "prose":
            found += [source for i in cells for source in self.said[i]]
        return found + (self.course if passage.whole else [])

    def _reach(self, number: Number, passage: Passage) -> tuple[int, ...]:
        if passage.whole or _rare(number):
            return tuple(self.page.cells)
        return tuple(dict.fromkeys([*passage.near, *passage.section]))

    def _of_claim(self, passage: Passage) -> list[Source]:
        """The claim's own call, what the names in it stand for, and what it printed."""
        cell = self.page.cells[passage.index]
        own = [part for part in ast.iter_child_nodes(passage.call) if not _is_sentence(part, passage)]
        found = [s for part in own for s in evidence.of_code(cell, self.page, part)]
        return found + [s for i in passage.section for s in self.by_cell[i]]

    def _near(self, number: Number, source: Source, passage: Passage) -> bool:
        if source.cell == -1 or not number.weak:
            return True
        shared = bool(number.labels & source.labels)
        if source.data:
            return shared
        return shared or source.cell in passage.near

    def _speaks(self, number: Number, sources: list[Source]) -> bool:
        """Whether any evidence counts the same things."""
        return any(number.labels & source.labels and not source.live for source in sources)


def _is_sentence(part: ast.AST, passage: Passage) -> bool:
    return any(part is argument for argument in passage.call.args[:2])


def _rare(number: Number) -> bool:
    digits = re.sub(r"\D", "", f"{number.mantissa:.12g}").strip("0")
    return len(digits) >= 3


def _of_course(name: str) -> Iterator[Source]:
    """What the front pages say of the chapter, and the solutions of its exercises."""
    for front in ("README.md", "INSTRUCTORS.md"):
        for line in (files.ROOT / front).read_text(encoding="utf-8").splitlines():
            if name in line or line.startswith(f"| {name[:2]} |"):
                for entry in line.split("|"):
                    if re.fullmatch(r"\s*\d+(?: \+ \d+)?\s*", entry):
                        for minutes in re.findall(r"\d+", entry):
                            yield Source(60.0 * int(minutes), "time", front, -1)
                            yield Source(float(minutes), None, front, -1)
    solutions = files.SOLUTIONS / f"{name}.ipynb"
    if solutions.exists():
        cells = json.loads(solutions.read_text(encoding="utf-8"))["cells"]
        assert cells
