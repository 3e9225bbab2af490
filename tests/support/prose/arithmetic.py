"""Sums that a sentence spells out itself: `2·4096³ = 137 billion`."""

import ast
import re

from tests.support.prose.numbers import Number

_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SIGNS = str.maketrans({"·": "*", "×": "*", "−": "-", "–": "-", "^": "**", "\u00a0": " "})
_PART = r"[\d.,·×*/+−^()\s⁰¹²³⁴⁵⁶⁷⁸⁹⁻-]"
_LEFT = re.compile(rf"((?:(?<=\s)|^|(?<=[(`]))\(?\d{_PART}*)\s*(?:=|≈)\s*$")
_SUMS = {ast.Expression, ast.BinOp, ast.UnaryOp, ast.USub, ast.Constant, ast.Add, ast.Sub,
         ast.Mult, ast.Div, ast.Pow}  # fmt: skip


def proved(text: str, found: list[Number]) -> set[int]:
    """Where the numbers stand that make a sum and its result, if the sum is right."""
    places: set[int] = set()
    for number in found:
        left = _LEFT.search(text[: number.start])
        if left is None:
            continue
        result = _result(left[1])
        allowed = number.step / 2 * number.factor + 1e-9 * abs(number.value)
        if result is not None and abs(result - number.value) <= allowed:
            places.add(number.start)
            places |= {n.start for n in found if left.start() <= n.start < number.start}
    return places


def _result(words: str) -> float | None:
    """What the sum makes, or None where it is none: a lone number makes nothing."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", words)
    plain = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda found: "**" + found[0].translate(_RAISED), plain)
    plain = plain.translate(_SIGNS).strip(" ,.\n")
    try:
        tree = ast.parse(plain, mode="eval")
    except SyntaxError:
        return None
    parts = [type(part) for part in ast.walk(tree)]
    if ast.BinOp not in parts or not set(parts) <= _SUMS:
        return None
    try:
        return float(eval(compile(tree, "<prose>", "eval"), {"__builtins__": {}}))
    except (ArithmeticError, ValueError, TypeError):
        return None
