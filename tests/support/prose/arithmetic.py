"""Sums that a sentence spells out itself: `2·4096³ = 137 billion`."""

import ast
import re

from tests.support.prose.numbers import Number

_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SIGNS = str.maketrans({"·": "*", "×": "*", "−": "-", "–": "-", "^": "**", "\u00a0": " "})
_LEFT = re.compile(r"([\d.,·×*/+−^()\s⁰¹²³⁴⁵⁶⁷⁸⁹⁻-]*\d[\d.,·×*/+−^()\s⁰¹²³⁴⁵⁶⁷⁸⁹⁻-]*)(?:=|≈|is)\s*$")


def follows(number: Number, text: str) -> bool:
    """Whether the number stands after a sum of plain numbers and an equals sign, and is its result."""
    found = _LEFT.search(text[: number.start])
    if found is None:
        return False
    result = _result(found[1])
    if result is None:
        return False
    allowed = (number.step / 2) * number.factor
    return abs(result - number.value) <= allowed + 1e-9 * abs(number.value)


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


_SUMS = {ast.Expression, ast.BinOp, ast.UnaryOp, ast.USub, ast.Constant, ast.Add, ast.Sub,
         ast.Mult, ast.Div, ast.Pow}  # fmt: skip
