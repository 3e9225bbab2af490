"""Numbers inside a formula of letters, such as 2(n−1): they are looked for as a piece of code."""

import re

from tests.support.prose.numbers import Number

_SIGNS = str.maketrans({"·": "*", "×": "*", "−": "-", "–": "-", "²": "**2", "³": "**3"})
_TERM = r"[A-Za-zα-ωΑ-Ω_][\w]*"
_BEFORE = re.compile(rf"({_TERM}\)? ?[·*/+−-] ?\(?)$")
_AFTER = re.compile(rf"^( ?[·*/+−-]? ?\(? ?{_TERM})(?<! [a-z])")


def piece(number: Number, text: str) -> str | None:
    """The number with the letter next to it and the sign between: `2*(n`; None outside formulas."""
    end = number.start + len(number.text)
    before, after = _BEFORE.search(text[: number.start]), _AFTER.search(text[end:])
    joined = after is not None and re.match(r" ?[·*/+−-]|\(?\w|\(", after[1])
    if before is None and not joined:
        return None
    left, right = before[1] if before else "", after[1] if joined else ""
    if right and right[0] not in " ·*/+−-":
        right = "*" + right
    return plain(left + number.text + right)


def plain(text: str) -> str:
    """Without blanks, signs as code has them."""
    return re.sub(r"\s", "", text.translate(_SIGNS))


def span(number: Number, text: str) -> str | None:
    """The `piece of code` that the number stands in."""
    for found in re.finditer(r"(?<!`)`([^`\n]+)`(?!`)", text):
        if found.start() < number.start < found.end():
            return found[1]
    return None
