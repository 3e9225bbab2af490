"""Numbers inside a formula of letters, such as 2(n−1): they are looked for as a piece of code."""

import re

from tests.support.prose.numbers import Number

_SIGNS = str.maketrans({"·": "*", "×": "*", "−": "-", "–": "-", "²": "**2", "³": "**3"})
_TERM = r"[A-Za-zα-ωΑ-Ω_][\w]*"
_BEFORE = re.compile(rf"({_TERM}\)? ?[·*/+−-] ?\(?)$")
_SUM = re.compile(r"\d[\d,]*[²³]?(?:\.\d+)?(?: ?[·*/×] ?\d[\d,]*(?:\.\d+)?[²³]?)+")
_ROW = re.compile(r"\d[\d.]*(?:, \d[\d.]*){2,}(?! ?[\d,])")
_SPAN = re.compile(r"(?<!`)`[^`\n]*[A-Za-z=+*][^`\n]*`(?!`)")
_AFTER = re.compile(rf"^( ?[·*/+−-]? ?\(? ?{_TERM})(?<! [a-z])")


def pieces(number: Number, text: str) -> list[str]:
    """What of the text around a number may stand in code as it is, written as code writes it.

    Its formula (`2*(n`, the letter next to it and the sign between), its product of plain numbers,
    its list of three or more, the `piece of code` that it stands in.
    """
    found = [formula(number, text), *(_around(number, text, runs) for runs in (_SUM, _ROW, _SPAN))]
    return [plain(one) for one in found if one]


def formula(number: Number, text: str) -> str | None:
    """The number with the letter next to it and the sign between, or None outside formulas."""
    end = number.start + len(number.text.split()[0])
    before, after = _BEFORE.search(text[: number.start]), _AFTER.search(text[end:])
    joined = after is not None and re.match(r" ?[·*/+−-]|\(?\w|\(", after[1])
    if before is None and not joined:
        return None
    left, right = before[1] if before else "", after[1] if joined else ""
    if right and right[0] not in " ·*/+−-":
        right = "*" + right
    return left + text[number.start : end] + right


def _around(number: Number, text: str, runs: re.Pattern[str]) -> str | None:
    for found in runs.finditer(text):
        if found.start() <= number.start < found.end():
            return found[0].strip("`[]() ")
    return None


def plain(text: str) -> str:
    """Without blanks, in small letters, signs as code has them."""
    text = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text)
    return re.sub(r"\s", "", text.translate(_SIGNS)).lower()
