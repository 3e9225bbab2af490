"""How much the check sees: every number of a page, changed in memory, one at a time."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.support.prose.checker import Checker, Verdict
from tests.support.prose.numbers import WORDS, Number

_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")


def changed(number: Number, draw: random.Random) -> Iterator[str]:
    """The number as somebody gets it wrong: a fifth more, a fifth less, another digit."""
    if number.word:
        others = [w for w in WORDS if abs(WORDS.index(w) + 2 - number.mantissa) in (1, 2)]
        yield draw.choice(others)
        return
    found = _DIGITS.search(number.text)
    if found is None:
        return
    digits = found[0]
    for factor in (1.2, 0.8):
        yield number.text.replace(digits, _scaled(digits, factor), 1)
    places = [i for i, letter in enumerate(digits) if letter.isdigit()]
    at = draw.choice(places)
    other = draw.choice([d for d in "123456789" if d != digits[at]])
    yield number.text.replace(digits, digits[:at] + other + digits[at + 1 :], 1)


def _scaled(digits: str, factor: float) -> str:
    value = float(digits.replace(",", ""))
    decimals = len(digits.partition(".")[2])
    new = round(value * factor, decimals)
    if new == round(value, decimals):
        new = value + (1 if factor > 1 else -1) * 10.0**-decimals
    return f"{abs(new):,.{decimals}f}" if "," in digits else f"{abs(new):.{decimals}f}"


@dataclass(frozen=True)
class Tally:
    """Of how many changes how many were caught, and those that weren't."""

    tried: int
    escaped: list[tuple[Verdict, str]]

    @property
    def share(self) -> float:
        return 1 - len(self.escaped) / self.tried


def planted(checker: Checker, every: int = 1, words: bool = False) -> Tally:
    """Each number of the page, or every so-many-th, changed in every way of `changed`."""
    draw = random.Random(0)
    all_of_them = [v for passage in checker.page.passages for v in checker.verdicts(passage)]
    chosen = [v for v in all_of_them if v.resolved and (words or not v.number.word)][::every]
    tried = [(verdict, text) for verdict in chosen for text in changed(verdict.number, draw)]
    return Tally(len(tried), [(v, text) for v, text in tried if not caught(checker, v, text)])


def caught(checker: Checker, verdict: Verdict, text: str) -> bool:
    """Whether the check complains where the passage has `text` in the number's place."""
    passage, number = verdict.passage, verdict.number
    if verdict.reason:
        return True  # its stretch is on the page no more
    end = number.start + len(number.text)
    mutant = replace(passage, text=passage.text[: number.start] + text + passage.text[end:])
    found = checker.verdicts(mutant, number.start)
    return not all(v.resolved for v in found)
