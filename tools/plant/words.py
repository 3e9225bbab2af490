"""Sentences made false: a direction turned round, a number changed, a claim made too strong."""

import re
from collections.abc import Iterator

Change = tuple[str, str]  # what stands in a text, and what shall stand there

PAIRS = (
    ("at least", "at most"), ("faster", "slower"), ("quicker", "slower"), ("fastest", "slowest"),
    ("quickest", "slowest"), ("more", "less"), ("larger", "smaller"), ("largest", "smallest"),
    ("higher", "lower"), ("highest", "lowest"), ("longer", "shorter"), ("longest", "shortest"),
    ("better", "worse"), ("best", "worst"), ("wider", "narrower"), ("widest", "narrowest"),
    ("closer", "farther"), ("nearer", "farther"), ("finer", "coarser"), ("sooner", "later"),
    ("earlier", "later"), ("cheaper", "dearer"), ("before", "after"), ("first", "last"),
    ("most", "least"), ("above", "below"), ("over", "under"), ("twice", "half"),
    ("grows", "shrinks"), ("rises", "falls"), ("climbs", "falls"), ("gains", "loses"),
    ("saves", "costs"), ("doubles", "halves"), ("never", "always"), ("nothing", "everything"),
    ("doesn't", "does"), ("don't", "do"), ("isn't", "is"), ("aren't", "are"), ("can't", "can"),
)  # fmt: skip
NEGATIONS = {"doesn't", "does", "don't", "do", "isn't", "is", "aren't", "are", "can't", "can"}
OPPOSITES = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])} | {
    "slower": "faster", "slowest": "fastest", "later": "earlier", "fewer": "more",
    "farther": "nearer", "falls": "rises",
}  # fmt: skip
IDIOMS = re.compile(
    r"\b((once|any|no|what is) more|at (first|last|best|worst)|more or less|first of all"
    r"|over (NCCL|gloo|TCP|PCIe|NVLink|a|the|and)|above all|half (of|a|an|the)"
    r"|as (do|does|is|are))\b",
    re.I,
)
COMPARES = re.compile(
    r"\b(than|twice|times|as \w+ as|before|after|more|less|fewer|better|worse|best|worst|most|least"
    r"|(fast|quick|slow|larg|small|high|low|long|short|wid|narrow|fin|earli|lat|cheap)(er|est))\b"
)
STRONGER = {
    "less than half": "less than a tenth", "up to": "always", "some": "all", "most": "all",
    "often": "always", "hardly": "never", "nearly": "exactly", "almost": "exactly",
    "about": "exactly", "half": "a tenth", "twice": "ten times", "a few": "hundreds of",
    "can": "must", "several": "hundreds of", "a quarter": "a hundredth", "a third": "a hundredth",
}  # fmt: skip
SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z0-9*`≈(])")
SILENT = re.compile(r"`[^`]*`|\]\([^)]*\)|https?://\S+|\$[^$]*\$")
SHORTEST = 5  # words of a sentence that says something
NAMED = re.compile(
    r"\b(chapters?|sections?|exercise|steps?|line|python|torch|cuda|pcie|nvlink|version|gen|seed|top"
    r"|\d+ and)\s*$",
    re.I,
)
NUMBER = re.compile(
    r"(?<![\w.,^·⁻/–-])(?!0\d)\d+(?:,\d{3})*(?:\.\d+)?(?!,?\d)(?![\w.]*[\w⁻⁰¹²³⁴-⁹])"
)
UPPER_BOUND = re.compile(r"(less than|under|below|at most|within|up to|to within|only)( \w+)? $")


def sentences(markdown: str) -> Iterator[str]:
    """The statements of a cell of text: no headings, tables, questions, predictions, exercises."""
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", markdown):
        text = paragraph.strip().removeprefix("- ")
        if not text.startswith(("#", "|", ">", "```", "**Break", "**Next")) and " · " not in text:
            for one in SENTENCE.split(text):
                if "**Predict" in one:
                    break
                if not one.rstrip().endswith("?") and len(one.split()) >= SHORTEST:
                    yield one


def reversals(text: str, negations: bool = True) -> Iterator[Change]:
    """Each word of a direction turned into its opposite; with `negations`, yes into no as well."""
    shown = _without(text, SILENT, IDIOMS)
    words = sorted(OPPOSITES, key=len, reverse=True)
    for found in re.finditer(rf"\b({'|'.join(words)})\b(?!')", shown, re.I):
        word = found[0].lower()
        if negations or word not in NEGATIONS:
            new = OPPOSITES[word]
            yield _in_place(text, found, new.capitalize() if found[0][0].isupper() else new)


def compares(text: str) -> bool:
    """Whether a sentence says that one thing is more, or earlier, than another."""
    return bool(COMPARES.search(_without(text, SILENT)))


def other_numbers(text: str) -> Iterator[Change]:
    """Each quantity of a text made a fifth larger; names, references and years are left alone."""
    shown = _without(text, SILENT)
    for found in NUMBER.finditer(shown):
        value = float(found[0].replace(",", ""))
        year = found[0].isdigit() and 1900 < value < 2100
        if value > 1 and not year and not NAMED.search(shown[: found.start()]):
            yield _in_place(text, found, scaled(found[0], 1.2))


def exaggerations(sentence: str) -> Iterator[Change]:
    """A bound or a number ten times as strong; without numbers, a word that says more."""
    numbers = [
        m for m in NUMBER.finditer(_without(sentence, SILENT)) if float_of(m[0]) not in (0, 1)
    ]
    for found in numbers:
        upper = UPPER_BOUND.search(sentence[: found.start()])
        yield _in_place(sentence, found, scaled(found[0], 0.1 if upper else 10))
    if not numbers:
        for weak, strong in STRONGER.items():
            for found in re.finditer(rf"\b{weak}\b", sentence):
                yield _in_place(sentence, found, strong)


def scaled(number: str, factor: float) -> str:
    """A number as text, times a factor, written as it was: `1,024` by 1.2 gives `1,229`.

    It always becomes another number.
    """
    value = float_of(number)
    digits = len(number.partition(".")[2])
    new = f"{value * factor:,.{digits}f}" if factor > 1 else f"{value * factor:,.10g}"
    if float_of(new) == value:
        new = f"{value + 10**-digits:,.{digits}f}"
    return new if "," in number or len(number) < 5 else new.replace(",", "")


def float_of(number: str) -> float:
    return float(number.replace(",", ""))


def _without(text: str, *patterns: re.Pattern[str]) -> str:
    """The text with what matches blanked out, everything else at its place."""
    for pattern in patterns:
        text = pattern.sub(lambda found: "\0" * len(found[0]), text)
    return text


def _in_place(text: str, found: re.Match[str], new: str) -> Change:
    return text, text[: found.start()] + new + text[found.end() :]
