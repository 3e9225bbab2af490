"""Whether each number that people read has a source beside it: code, stored output, cited data.

People read a page's text, the sentences of its claims and the titles in its code. A number with two
digits or a unit wants a source: the same number, rounded to the digits shown, in its section. One
of three significant digits may be anywhere on the page. What no page can print has its reason in
`tests/pages/prose_reasons.toml`: a stretch of the page, numbers and all, and where they are from.

`python -m tests.support.prose 03` prints each number of a chapter that has neither.
"""

import ast
import html
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.core import files

REASONS = Path(__file__).parent.parent / "pages" / "prose_reasons.toml"

# What has digits and is no quantity: names, places in the course, years, code, links.
_NAMED = (
    "chapters?|sections?|exercises?|hint|issue|figure|version|stages?|PCIe|NVLink|GTX|Llama|CUDA"
    "|torch's|torch|Python|Xeon|Platinum|rank|device|node|GPU|capability"
)
_NAMES = [
    re.compile(
        r"\bcommit \w+|\d{4}-\d\d-\d\d|```.*?```|(?:\[\d+)?\]\([^)\s]*\)|\]\[[^\]]*\]|https?://\S+|\bhint\(\"[^)]*\)",
        re.S,
    ),
    re.compile(r"\(\d+ minutes, (?:about )?\d+ lines?\)|\[\d\d\]|#[\da-f]{6}\b|0x[\da-fp.]+"),
    re.compile(r"^#+ \d+(?:\.| ·)?|^\s*(?:> )?\d+[.)] ", re.M),
    re.compile(rf"\b(?:{_NAMED}) \[?\(?\d[\d.]*(?:(?:,| and| to|–) ?\d+\b)*(?:\)|x\d+)?", re.I),
    re.compile(r"(?<![\w.])(?<!\d,)(?:19[5-9]\d|20[0-3]\d)(?![\w,]\d|\w|\.\d| ×)(?! (?:MiB|byte))"),
    re.compile(r"(?<![\w.])\d+(?:st|nd|rd|th|D|-D)\b|\b1F1B\b|`\d[ \d]+`"),
    re.compile(r"(?<!\w)[A-Za-zα-ω_]\w*(?:[-.][A-Za-z]*\d[\w.]*\w|[-.]\d+)*(?!\w)"),
]
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SUFFIXES = {"K": "thousand", "k": "thousand", "M": "million", "B": "billion"}
_TIMES = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0, "nanosecond": 1e-9,
          "microsecond": 1e-6, "millisecond": 1e-3, "second": 1.0, "minute": 60.0, "hour": 3600.0,
          "day": 86400.0, "week": 604800.0}  # fmt: skip
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
             "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}  # fmt: skip
_UNITS = {
    "%": (0.01, "share"),
    "percent": (0.01, "share"),
    "dB": (1.0, "dB"),
    "×": (1.0, "ratio"),  # 5.5× as many; 5 × 5 is a product
    "times": (1.0, "ratio"),
    "cm": (0.01, "m"),
}
_UNITS |= {name + s: (by, "s") for name, by in _TIMES.items() for s in ("", "s")}
for _name, _by in _PREFIXES.items():
    _UNITS |= {f"{_name}{u}": (_by, u) for u in ("B", "B/s", "FLOP/s", "FLOP", "FLOPs", "Hz")}
    _UNITS |= {f"{_name}bit/s": (_by / 8, "B/s")}
_UNITS |= {"byte": _UNITS["B"], "bytes": _UNITS["B"]}
_COLUMNS = {"tflop_per_s": "TFLOP/s", "gb_per_s": "GB/s", "flop_per_s": "FLOP/s", "seconds": "s",
            "bytes_per_s": "B/s", "days": "day", "hours": "hour", "ns": "ns", "us": "us",
            "ms": "ms", "mib": "MiB", "gb": "GB", "bytes": "B", "percent": "%"}  # fmt: skip
_UNIT = "|".join(map(re.escape, sorted({*_UNITS} - {"×"}, key=len, reverse=True)))
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:e(?P<e>[−-]?\d+))?"
    r"(?P<power>\^\(?[−-]?\d+\)?|⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?(?P<suffix>[KkMB](?![\w/]))?"
    rf"(?:[ \u00a0](?P<scale>{'|'.join(_SCALES)})\b)?(?P<unit>×|[ \u00a0]?(?:{_UNIT})(?![\w/]))?"
)
_ABOUT = re.compile(r"(?:≈|~|\b(?:about|some|nearly|almost|roughly|around))\s*$", re.I)
_BETWEEN = re.compile(r",? ?(?:and|or|to|–|against)? ?(?:≈ )?")


@dataclass(frozen=True)
class Number:
    """A number as it is written; `factor` and `kind` are those of its unit, if it has one.

    `step` is one in its last digit, 0 for one that is repeated exactly. `live` marks one that is
    measured (≈), and differs from machine to machine.
    """

    value: float
    step: float = 0.0
    factor: float = 1.0
    kind: str | None = None
    live: bool = False
    text: str = ""
    start: int = 0

    @property
    def digits(self) -> int:
        """How many are significant."""
        return len(f"{self.value:.12g}".partition("e")[0].replace(".", "").strip("0"))

    @property
    def wants_a_source(self) -> bool:
        return self.kind is not None or self.value >= 10 or self.digits > 1

    def agrees(self, source: "Number") -> bool:
        """Whether a source says the same, in this number's unit and digits."""
        base = source.value * source.factor / self.factor
        if source.kind is None:
            meant = [base, source.value]
        elif self.kind is None:
            meant = [source.value]
        else:
            same = self.kind == source.kind or {self.kind, source.kind} == {"share", "ratio"}
            meant = [base] if same else []
        return any(self._is(abs(one), exact=source.step == 0) for one in meant)

    def _is(self, found: float, exact: bool) -> bool:
        allowed = 0.0 if exact else min(self.step / 2, self.value / 20)
        return abs(self.value - found) <= allowed + 1e-9 * self.value


def numbers(text: str) -> list[Number]:
    """Every quantity of a text; "19.5, 312 and 624 TFLOP/s" has three with a unit."""
    for name in _NAMES:
        text = name.sub(_blank, text)
    found: list[Number] = []
    for match in reversed(list(_NUMBER.finditer(text))):
        number = _number(match, text[: match.start()])
        if found and number.kind is None and number.factor == 1:
            after = found[-1]
            if _BETWEEN.fullmatch(text[match.end() : after.start]):
                number = replace(number, kind=after.kind, factor=after.factor)
        found.append(number)
    return found[::-1]


def _blank(found: re.Match[str]) -> str:
    """Blanks for a name with digits; words without stay, some of them are units."""
    return re.sub(r"[^\n]", " ", found[0]) if re.search(r"\d", found[0]) else found[0]


def _number(found: re.Match[str], before: str) -> Number:
    digits, exponent = found["digits"].replace(",", ""), (found["e"] or "0").translate(_RAISED)
    scale = 10.0 ** int(exponent)
    value, step = float(digits) * scale, scale * 10.0 ** -len(digits.partition(".")[2])
    if found["power"] and value <= 10:
        value, step = value ** int(found["power"].strip("^()").translate(_RAISED)), 0.0
    about = _ABOUT.search(before)
    while step and (about or value >= 1000) and value and value % (step * 10) == 0:
        step *= 10  # zeros at the end are no digits of what is about or large
    factor, kind = _UNITS.get((found["unit"] or "").strip(), (1.0, None))
    factor *= _SCALES.get(found["scale"] or _SUFFIXES.get(found["suffix"], ""), 1.0)
    live = before.rstrip().endswith("≈")
    return Number(value, step, factor, kind, live, found[0], found.start())


@dataclass(frozen=True)
class Passage:
    """A piece of text, its cell, and the numbers that may stand behind its own.

    `elsewhere` are those of the whole page; `bounds` says that it is a claim, of which 20% more or
    less may be a bound of 1.2 or 0.8.
    """

    cell: int
    text: str
    sources: list[Number]
    elsewhere: list[Number]
    bounds: bool = False

    def missing(self) -> list[Number]:
        """Its numbers that nothing stands behind."""
        sources = [*self.sources, *_sheets_named(self.text)]
        if self.bounds:
            sources += [Number(abs(n.value - 1)) for n in self.sources if n.kind is None]
        return [
            number
            for number in numbers(self.text)
            if number.wants_a_source
            and not any(map(number.agrees, sources))
            and not (number.digits > 2 and any(map(number.agrees, self.elsewhere)))
        ]


class Page:
    """A chapter's passages, and the reasons for those of its numbers that it can't print."""

    def __init__(
        self,
        cells: list[dict[str, Any]],
        reasons: Iterable[str] = (),
        minutes: Sequence[Number] = (),
    ) -> None:
        self.reasons, self.passages = list(reasons), list[Passage]()
        sections: dict[str, list[_Cell]] = {}
        texts: list[tuple[str, int, str]] = []
        section = ""
        for index, cell in enumerate(cells):
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                sections.setdefault(section, []).append(_Cell(index, source, cell["outputs"]))
                continue
            for words in re.split(r"^(?=##? )", source, flags=re.M):
                if heading := re.match(r"##? (.*)", words):
                    section = heading[1]
                if words.strip():
                    texts.append((section, index, words))
        page = [*minutes, *(n for here in sections.values() for cell in here for n in cell.all)]
        summaries = (texts[0][0], "Exercises", "Remember")  # they speak of the whole page
        for section, index, words in texts:
            near = [n for cell in sections.get(section, []) for n in cell.all]
            self.passages.append(
                Passage(index, words, page if section in summaries else near, page)
            )
        for here in sections.values():
            section_numbers = [n for cell in here for n in cell.numbers]
            for cell in here:
                for words in cell.sentences:
                    passage = Passage(cell.index, words, cell.numbers, section_numbers, bounds=True)
                    self.passages.append(passage)

        self.bare = [(passage, number) for passage in self.passages for number in passage.missing()]

    def missing(self) -> list[tuple[Passage, Number]]:
        """The numbers without a source or a reason."""
        return [one for one in self.bare if not any(_excuses(r, *one) for r in self.reasons)]

    def stale(self) -> list[str]:
        """The reasons that excuse no number of the page any more."""
        return [r for r in self.reasons if not any(_excuses(r, *one) for one in self.bare)]


def _excuses(stretch: str, passage: Passage, number: Number) -> bool:
    """Whether the stretch holds the number, whatever line ends and bold type are in the text."""
    words = (r"(?:\*\*)?".join(map(re.escape, word)) for word in stretch.split(" "))
    written = r"(?:\*\*)?\s+(?:> )?(?:\*\*)?".join(words)
    found = re.finditer(written, passage.text)
    return any(one.start() <= number.start < one.end() for one in found)


class _Cell:
    """A code cell: the sentences in it, and the numbers of the rest, its outputs and its data."""

    def __init__(self, index: int, source: str, outputs: list[dict[str, Any]]) -> None:
        self.index = index
        magics = re.findall(r"^[ \t]*[%!].*$", source, re.M)
        tree = ast.parse(re.sub(r"^([ \t]*)[%!].*$", r"\1pass", source, flags=re.M))
        self.sentences = list(_sentences(tree))
        printed = "\n".join([*magics, *_printed(outputs)])
        said = {part for words in self.sentences for part in words.split("…") if len(part) > 5}
        for words in sorted(said, key=len, reverse=True):
            printed = printed.replace(words, " ")  # they are no evidence of themselves
        self.numbers = [n for n in numbers(printed) if not n.live]
        self.numbers += _constants(tree)
        for name in re.findall(r"\bpublished\(\s*\"(\w+)\"", source):
            self.numbers += _of_rows(_published(name))
        for name in re.findall(r"\brecorded\(\s*\"(\w+)\"", source):
            for path in files.DATA.glob(f"recorded/*/*/{name}.json"):
                self.numbers += _of_rows(json.loads(path.read_text(encoding="utf-8")))
        self.all = [*self.numbers, *(n for words in self.sentences for n in numbers(words))]


def _printed(outputs: list[dict[str, Any]]) -> Iterator[str]:
    for output in outputs:
        yield "".join(output.get("text", ""))
        shown = output.get("data", {})
        for kind in ("text/plain", "text/markdown"):  # how many are in [] differs by machine
            yield re.sub(r"≈ \[[^\]]*\]", "≈", "".join(shown.get(kind, "")))
        for table in re.findall(r"<table.*?</table>", "".join(shown.get("text/html", "")), re.S):
            table = re.sub(r"<caption.*?</caption>", "", table, flags=re.S)
            yield html.unescape(re.sub(r"(?:<[^>]*>\s*)+", "; ", table))


def _sentences(tree: ast.AST) -> Iterator[str]:
    """Claims' sentences and titles: the strings with a blank that aren't docstrings or formats."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(id(node.value))
        elif isinstance(node, ast.FormattedValue):
            skipped |= {id(part) for part in ast.walk(node)}
        elif isinstance(node, ast.JoinedStr) and id(node) not in skipped:
            skipped |= {id(part) for part in ast.walk(node)}
            yield "".join(
                part.value if isinstance(part, ast.Constant) else " … " for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = "" if id(node) in skipped else node.value
            if re.search(r"[A-Za-z].*\s.*[a-z]", words, re.S):
                yield words


def _constants(node: ast.AST) -> Iterator[Number]:
    """The numbers in code: of `2**20` and of `[4**k for k in range(9)]`, what they make."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if re.fullmatch(r"[≈ ]*\d[\d,.]*[ %×]*", node.value):
            yield from numbers(node.value)
        return
    if isinstance(node, ast.expr):
        try:
            made = eval(compile(ast.Expression(node), "page", "eval"), {"__builtins__": _HARMLESS})
        except Exception:
            made = None
        found = [Number(abs(float(n))) for n in _flat(made)]
        yield from found
        if found and isinstance(node, (ast.Constant, ast.BinOp, ast.UnaryOp)):
            return
        if len(entries := getattr(node, "elts", getattr(node, "keys", []))) > 2:
            yield Number(float(len(entries)))
    for child in ast.iter_child_nodes(node):
        yield from _constants(child)


_HARMLESS = {"range": range, "len": len, "sum": sum, "min": min, "max": max, "float": float}


def _flat(made: Any) -> list[float]:
    if isinstance(made, (int, float)) and not isinstance(made, bool):
        return [made]
    if isinstance(made, dict):
        made = [*made, *made.values()]
    if isinstance(made, range) and len(made) > 40:
        made = [made.start, made.stop]
    entries = made if isinstance(made, (list, tuple, set, range)) else []
    return [number for one in entries for number in _flat(one)][:80]


@cache
def _published(name: str) -> dict[str, Any]:
    short = json.loads((files.DATA / "published.json").read_text(encoding="utf-8"))
    table = files.DATA / "published" / f"{name}.json"
    if table.exists():
        return json.loads(table.read_text(encoding="utf-8"))
    return short.get(name, {})


def _of_rows(found: dict[str, Any]) -> Iterator[Number]:
    yield from numbers(str(found.get("what", "")))
    for row in found.get("rows", []):
        named = dict(zip(found["columns"], row, strict=True)) if "columns" in found else row
        yield from _of_row(named)


def _of_row(row: dict[str, Any]) -> Iterator[Number]:
    for name, value in row.items():
        unit = next((u for end, u in _COLUMNS.items() if f"_{name}".endswith(f"_{end}")), None)
        factor, kind = _UNITS[unit] if unit else (1.0, None)
        if isinstance(value, str):
            yield from numbers(value)
        elif isinstance(value, dict):
            yield from _of_row({f"{key}_{name}": one for key, one in value.items()})
        elif isinstance(value, (int, float)):
            yield Number(abs(float(value)), 1.0, factor, kind)


def _sheets_named(text: str) -> Iterator[Number]:
    """The data sheets of the GPUs that a text names: an "A100" may be any of those."""
    sheets = tomllib.loads((files.DATA / "gpus.toml").read_text(encoding="utf-8"))["gpu"]
    for row in sheets:
        if re.search(rf"\b{re.escape(row['title'].split()[0])}\b", text):
            yield from _of_row(row)


def read(path: Path) -> Page:
    """A chapter, from its notebook, with its reasons and its minutes on the front pages."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8")).get(path.stem[:2], {})
    number, minutes = path.stem[:2], list[Number]()
    for front in ("README.md", "INSTRUCTORS.md"):
        text = (files.ROOT / front).read_text(encoding="utf-8")
        row = re.search(rf"^\| (?:\[{number} ·.*|{number}) \| (\d+(?: \+ \d+)?) \|", text, re.M)
        minutes += numbers(row[1]) if row else []
    return Page(json.loads(path.read_text(encoding="utf-8"))["cells"], reasons, minutes)


def main(chapters: list[str]) -> None:
    """Prints what has no source, and the reasons that are needed no more."""
    for path in files.chapters():
        if not chapters or path.stem[:2] in chapters:
            page = read(path)
            missing = page.missing()
            for passage, number in missing:
                before, after = passage.text[: number.start][-45:], passage.text[number.start :]
                after = after.removeprefix(number.text)[:35]
                print(f"[{passage.cell}] …{before}⟦{number.text}⟧{after}…".replace("\n", " "))
            for stretch in page.stale():
                print(f"a reason that excuses nothing: {stretch!r}")
            print(f"{path.stem}: {len(missing)} numbers have no source")


if __name__ == "__main__":
    main(sys.argv[1:])
