"""A claim's sentence says the bound that its condition has: "at least 3 times" is `above=3`."""

import ast
import math
import re
from collections.abc import Iterator

LOWER = r"at least|more than|over|above|beyond|not under|no (?:less|fewer) than"
UPPER = r"at most|less than|fewer than|under|below|within|up to|not over|no more than"
PARTS = {"half": 1 / 2, "a third": 1 / 3, "a quarter": 1 / 4, "a fifth": 1 / 5, "a tenth": 1 / 10}
COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
IN_WORDS = PARTS | {"twice": 2.0} | {word: float(n) for n, word in enumerate(COUNTS, 1)}
PHRASE = re.compile(
    rf"\b(?:(?P<lower>{LOWER})|(?P<upper>{UPPER})) (?:a factor of |about )?"
    rf"(?:(?P<words>{'|'.join(IN_WORDS)})\b|(?P<digits>\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)"
    r"(?P<percent> ?%)?)"
)


def contradictions(sentence: str, call: ast.Call) -> Iterator[str]:
    """What is wrong between a claim's words and its `above=` and `below=`, in a line.

    Words may say the bound as a share ("within 15%", "20% less"), and turned round ("3 times
    slower" is a speed below a third). Where a sentence has several bounds, one has to be right.
    """
    said = [(1 if m["lower"] else -1, _number(m), m[0]) for m in PHRASE.finditer(sentence)]
    tested = list(_bounds(call))
    if not said or not tested:
        return
    ways = {_way(s, number, t, bound) for s, number, _ in said for t, bound in tested}
    if ways and 1 not in ways:
        words = ", ".join(phrase for *_, phrase in said)
        code = ", ".join(f"{'above' if t > 0 else 'below'}={bound:g}" for t, bound in tested)
        wrong = "points the other way" if -1 in ways else "is another number"
        yield f"its words say “{words}”, its bound {code} {wrong}: {sentence}"


def _number(found: re.Match[str]) -> float:
    if found["words"]:
        return IN_WORDS[found["words"]]
    number = float(found["digits"].replace(",", ""))
    return number / 100 if found["percent"] else number


def _bounds(call: ast.Call) -> Iterator[tuple[int, float]]:
    for keyword in call.keywords:
        if keyword.arg in ("above", "below"):
            value = _value(keyword.value)
            if value is not None:
                yield (1 if keyword.arg == "above" else -1), value


def _value(node: ast.expr) -> float | None:
    """A number that stands in the code, sums and quotients of such too; None for a name."""
    if any(isinstance(part, ast.Name | ast.Call | ast.Attribute) for part in ast.walk(node)):
        return None
    return float(eval(ast.unparse(node)))  # numbers and operators alone


def _way(said: int, number: float, tested: int, bound: float) -> int:
    """1 where words and bound agree, -1 where one number points two ways, 0 for two numbers."""
    straight = (number, 1 + number, 100 * number)
    turned = (1 - number, 1 / number, -number)
    if any(math.isclose(bound, form, rel_tol=0.02) for form in straight):
        return 1 if said == tested else -1
    return int(said != tested and any(math.isclose(bound, f, rel_tol=0.02) for f in turned))
