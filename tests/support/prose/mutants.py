"""How much the check sees: every number of a page, changed in memory, one at a time."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace

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


def caught(checker: Checker, verdict: Verdict, text: str) -> bool:
    """Whether the check complains where the passage has `text` in the number's place."""
    passage, number = verdict.passage, verdict.number
    end = number.start + len(number.text)
    mutant = replace(passage, text=passage.text[: number.start] + text + passage.text[end:])
    found = checker.verdicts(mutant, number.start)
    return not all(v.resolved for v in found)
