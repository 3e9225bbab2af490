"""Numbers as people write them: `1,024`, `2⁻²⁴`, `82%`, `5.5×`, `1 MiB`, `137 billion`, `four`."""

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tests.support.prose import units
from tests.support.prose.names import masked

WORDS = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
_FRACTIONS = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4)}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_POWER = r"(?:\^|\*\*)\(?([−-]?\d+)\)?|([⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
NUMBER = re.compile(
    r"(?<![\w.,])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<e>e[−-]?\d+)?"
    rf"(?P<power>{_POWER})?(?P<suffix>(?-i:[KkMB])(?![\w/]))?"
    rf"|(?P<fraction>[{''.join(_FRACTIONS)}])"
    rf"|\b(?P<word>{'|'.join(WORDS)})\b",
    re.IGNORECASE,
)
_LARGEST_BASE = 10
_ABOUT = re.compile(r"(?:≈|~|\b(?:about|some|nearly|almost|roughly|around))\s*(?:a |an )?$", re.I)
_LIST = re.compile(r",? ?(?:and|or|to|–|against)? ?(?:≈ )?", re.I)
_LABEL = re.compile(r"[A-Za-z][A-Za-z_]{2,}")
_NO_LABEL = {
    "and", "are", "but", "can", "each", "for", "from", "had", "has", "its", "least", "more", "most",
    "not", "one", "over", "than", "that", "the", "they", "this", "those", "times", "under", "was",
    "were", "when", "which", "who", "with",
}  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A number of a text: `mantissa` is what is written, `factor` and `kind` what its unit says.

    `step` is one in the last digit that is shown, `about` whether the text says "about". `counted`
    is the next word, `labels` are the words around it that say what is counted, without their
    plural s. `live` is a number
    that ≈ marks as measured.
    """

    text: str
    start: int
    mantissa: float
    step: float
    factor: float = 1.0
    kind: str | None = None
    about: bool = False
    live: bool = False
    word: bool = False
    counted: str = ""
    labels: frozenset[str] = field(default=frozenset())

    @property
    def value(self) -> float:
        """In base units: seconds, bytes, a share."""
        return self.mantissa * self.factor

    @property
    def rare(self) -> bool:
        """Whether it has so many digits that the same one elsewhere is hardly chance."""
        digits = f"{self.mantissa:.12g}".partition("e")[0].replace(".", "").strip("0")
        power = self.step == 0 and not self.word and not 1e-6 < self.mantissa < 1e6
        return len(digits) >= 3 or power

    @property
    def scaled(self) -> bool:
        """Whether its unit makes another number of it in base units: 4 ms is 0.004."""
        return self.factor not in (1.0, 0.01)


def numbers(text: str) -> list[Number]:
    """Every quantity of a text; what only looks like one (FP32, chapter 6, 2017) is none."""
    quantities = masked(text)
    found = [_number(text, quantities, number) for number in NUMBER.finditer(quantities)]
    return _with_shared_units(found, quantities)


def _with_shared_units(found: list[Number], text: str) -> list[Number]:
    """In "19.5, 312 and 624 TFLOP/s" all three have the last one's unit."""
    shared = found[-1:]
    for number in reversed(found[:-1]):
        after = shared[0]
        between = text[number.start + len(number.text) : after.start]
        if number.kind is None and number.factor == 1.0 and after.kind and _LIST.fullmatch(between):
            number = replace(number, kind=after.kind, factor=after.factor, labels=after.labels)
        shared.insert(0, number)
    return shared


def _number(text: str, quantities: str, found: re.Match[str]) -> Number:
    mantissa, step = _written(found)
    end, factor, kind = found.end(), 1.0, None
    if found["suffix"]:
        factor = units.SUFFIXES[found["suffix"]]
    if scale := units.SCALE.match(quantities, end):
        factor, end = units.SCALES[scale[1]], scale.end()
    if unit := units.UNIT.match(quantities, end):
        its, kind = units.UNITS[unit[1] or unit[2]]
        factor, end = factor * its, unit.end()
    before = quantities[: found.start()]
    live = before.rstrip().endswith("≈")
    return Number(
        text=text[found.start() : end],
        start=found.start(),
        mantissa=mantissa,
        step=step,
        factor=factor,
        kind=kind,
        about=bool(_ABOUT.search(before[-12:])),
        live=live,
        word=bool(found["word"]),
        counted=_counted(quantities[end:]),
        labels=_labels(before, quantities[end:]),
    )


def _written(found: re.Match[str]) -> tuple[float, float]:
    """The number itself, and one in its last digit."""
    if found["word"]:
        return WORDS.index(found["word"].lower()) + 2.0, 0.0
    if found["fraction"]:
        return float(Fraction(*_FRACTIONS[found["fraction"]])), 0.0
    digits = found["digits"].replace(",", "")
    exponent = int((found["e"] or "e0")[1:].replace("−", "-"))
    decimals = len(digits.partition(".")[2])
    value, step = float(digits) * 10.0**exponent, 10.0 ** (exponent - decimals)
    if found["power"] and value <= _LARGEST_BASE:
        power = re.sub(r"[\^*()]", "", found["power"]).replace("−", "-").translate(_RAISED)
        return value ** int(power), 0.0
    return value, step


def _counted(after: str) -> str:
    """What is counted, where the very next word says it."""
    found = re.match(r" ([A-Za-z]{3,})", after)
    return stem(found[1]) if found and found[1].lower() not in _NO_LABEL else ""


def _labels(before: str, after: str) -> frozenset[str]:
    """The words that say what is counted: the next three, and the last one before."""
    clause = re.split(r"[.;:?!()|]|,(?!\d)", after, maxsplit=1)[0]
    words = _LABEL.findall(clause)[:3] + _LABEL.findall(re.split(r"[.;:?!()|,]", before)[-1])[-2:]
    return frozenset(stem(word) for word in words if word.lower() not in _NO_LABEL)


def stem(word: str) -> str:
    """Without its plural s, in small letters."""
    small = word.lower()
    return small[:-1] if small.endswith("s") and not small.endswith("ss") else small
