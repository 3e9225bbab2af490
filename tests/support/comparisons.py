"""A comparison in words stands next to the claim that tests it.

`python -m tests.support.comparisons 01` lists a page's comparisons that no claim covers, each with
its cell and the claims nearest to it. Three ways out: a claim of the section that says the same in
words that point the same way; other words; or, where no claim can test it (a fact of the world, a
definition), an entry in `tests/pages/comparison_reasons.toml` that quotes it.
"""

import ast
import json
import math
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from course_utils.core import files
from tests.support.bounds_in_words import contradictions
from tests.support.comparing_words import AFFIRMED, OPPOSITE, Use, content, uses, word_set

REASONS = Path(__file__).parent.parent / "pages" / "comparison_reasons.toml"
CLAIMS = ("claim", "refuses", "follows")
UNTITLED = {*CLAIMS, "print", "predict", "check", "hint", "solution", "record", "start"}
ENOUGH, PLAIN_ENOUGH = 1.0, 2.0  # shared words, weighed: for a claim to cover, to contradict
SAME_WORD = 0.5  # and where both compare by the same word
ASIDE = re.compile(
    r">|\*\*(Break it|Next|Exercise)|\| ?-|.*\*\*Know first\*\*|On every page|How a", re.S
)
ASKING = re.compile(r"\*\*(Predict|Now predict|Find|Write your)")
COMMANDS = word_set(
    """ask buy call choose click compare count divide drop find give hear hold keep learn leave let
    look make mind move pin point read run send set sort step take try use wait write"""
)


@dataclass(frozen=True)
class Claim:
    """A claim's sentence, and what its words and its bound say against each other."""

    sentence: str
    section: int
    cell: str
    before: str = ""
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A sentence of prose, or a title, and the sections whose claims may test it (none: all)."""

    text: str
    sections: tuple[int, ...]
    cell: str
    before: str = ""
    title: bool = False
    strict: bool = False


@dataclass(frozen=True)
class Finding:
    """What becomes of a comparison: "covered", "no claim", "against a claim" or "a reason"."""

    statement: Statement
    use: Use
    what: str
    nearest: tuple[Claim, ...] = ()

    def __str__(self) -> str:
        said = f"{self.statement.cell}: {self.what}: “{self.use.word}” in: {self.statement.text}"
        return "\n".join([said, *(f"      {c.cell}: {c.sentence}" for c in self.nearest)])


@dataclass(frozen=True)
class Page:
    claims: tuple[Claim, ...]
    statements: tuple[Statement, ...]

    @cached_property
    def rarity(self) -> dict[str, float]:
        """How much a word tells of a claim: 1 where one has it, less the more have it."""
        counts = Counter(word for claim in self.claims for word in content(claim.sentence))
        return {word: 1 / (1 + math.log(n)) for word, n in counts.items()}

    def findings(self) -> list[Finding]:
        return [found for statement in self.statements for found in self.judge(statement)]

    def judge(self, said: Statement) -> Iterator[Finding]:
        near = [c for c in self.claims if not said.sections or c.section in said.sections]
        for use in uses(said.text, said.before, said.strict):
            (agree, same), (against, other) = (self._nearest(use, near, sign) for sign in (1, -1))
            if against >= PLAIN_ENOUGH and against > agree:
                yield Finding(said, use, "against a claim", other)
            elif agree >= ENOUGH and agree > against and use.word not in AFFIRMED:
                yield Finding(said, use, "covered", same)
            elif use.strong:
                yield Finding(said, use, "no claim", same or other)

    def _nearest(self, use: Use, claims: list[Claim], sign: int) -> tuple[float, tuple[Claim, ...]]:
        scored = [
            (self._alike(use, u, sign), c) for c in claims for u in uses(c.sentence, c.before)
        ]
        best = max((score for score, _ in scored), default=0.0)
        return best, tuple(dict.fromkeys(c for score, c in scored if score == best and score))

    def _alike(self, use: Use, other: Use, sign: int) -> float:
        """How many words, weighed, two comparisons share that point the same way, or not."""
        theirs, about = dict(other.readings), dict(other.about)
        sign = -sign if _exchanged(use, other) else sign
        plain = sign < 0 and {use.word, other.word} & AFFIRMED and OPPOSITE[use.word] != other.word
        if plain or not any(theirs.get(family) == sign * way for family, way in use.readings):
            return 0.0
        shared = sum(w * about[t] * self.rarity.get(t, 1) for t, w in use.about if t in about)
        return shared + SAME_WORD * (use.word == other.word and shared > 0)


def _exchanged(use: Use, other: Use) -> bool:
    """Whether one says of A and B what the other says of B and A: "quicker than", "longer than"."""
    if not use.sides or not other.sides:
        return False
    (a, b), (c, d) = use.sides, other.sides
    return len(a & d) + len(b & c) > len(a & c) + len(b & d)


@cache
def read(path: Path) -> Page:
    """The page's claims, and what its prose and its titles state."""
    claims: list[Claim] = []
    statements: list[Statement] = []
    section, cells = 0, json.loads(path.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        text, where = "".join(cell["source"]), f"[{number}] {cell['id']}"
        if cell["cell_type"] == "code":
            last = ""
            for name, sentence, call in _calls(text):
                if name in CLAIMS:
                    wrong = tuple(contradictions(sentence, call))
                    claims.append(Claim(sentence, section, where, last, wrong))
                    last = sentence
                else:
                    said = Statement(sentence, (section,), where, title=True, strict=True)
                    statements.append(said)
            continue
        before, heading = section, "title"
        for part in _paragraphs(text):
            if part.startswith("#"):
                heading, section = part, section + part.startswith("## ")
                continue
            end = heading.startswith("## Remember")
            near = () if end or not section else (before, section)
            last = ""
            for sentence in _sentences(part):
                statements.append(Statement(sentence, near, where, last, strict=end))
                last = sentence
    return Page(tuple(claims), tuple(statements))


def _calls(code: str) -> Iterator[tuple[str, str, ast.Call]]:
    """(function, sentence, call) of each claim, and of each call that begins with a title."""
    for node in ast.walk(ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.M))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name, place = node.func.id, int(node.func.id in CLAIMS)
            said = _words(node.args[place]) if len(node.args) > place else ""
            title = name.islower() and name not in UNTITLED and _titled(said)
            if said and (name in CLAIMS or title):
                yield name, said, node


def _titled(said: str) -> bool:
    """Whether a string is a title that states something."""
    return len(said.split()) > 2 and not re.match(r"(What|How|Who|Which|From) |.*\?$", said)


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "…" for v in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _paragraphs(text: str) -> Iterator[str]:
    """Headings, and what paragraphs, items and rows say before they ask for a prediction."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    for part in map(str.strip, re.split(r"\n\s*\n|\n(?=[-|>] ?)", text)):
        if not ASIDE.match(part) and "✎" not in part:
            yield ASKING.split(part)[0].removeprefix("- ")


def _sentences(text: str) -> list[str]:
    """Those that state something: no question, no order."""
    found = re.split(r"(?<=[.?!])[\"')*]*\s+(?=[A-Z\"(*`])", " ".join(text.split()))
    return [s for s in found if not re.search(r"\?[\")*]*$", s) and not _orders(s)]


def _orders(sentence: str) -> bool:
    first = re.match(r"\W*(?:Or |And |Then )?(\w*)", sentence)
    return bool(first and first[1].lower() in COMMANDS) or sentence.startswith("This chapter")


@cache
def reasons() -> dict[str, dict[str, str]]:
    return tomllib.loads(REASONS.read_text(encoding="utf-8"))


def problems(page: Page, excused: dict[str, str]) -> tuple[list[Finding], list[str]]:
    """The comparisons that stand alone or against a claim, and the reasons that excuse nothing."""
    bad = [f for f in page.findings() if f.what != "covered"]
    used = {quote for f in bad for quote in excused if _quotes(quote, f)}
    return [f for f in bad if not any(_quotes(q, f) for q in used)], sorted(set(excused) - used)


def _quotes(quote: str, found: Finding) -> bool:
    """Whether the quote stands in the statement, the comparing word in it."""
    start = found.statement.text.find(quote)
    return start >= 0 and start <= found.use.at < start + len(quote)


def reversals(page: Page) -> Iterator[tuple[Finding, Statement]]:
    """Each comparison that a claim covers, and its statement with the word turned round."""
    for found in page.findings():
        if found.what == "covered" and found.use.strong:
            text, start = found.statement.text, found.use.at
            turned = OPPOSITE[found.use.word] + text[start + len(found.use.word) :]
            yield found, replace(found.statement, text=text[:start] + turned)


def main(chapters: list[str]) -> None:
    for chapter in chapters:
        (path,) = files.NOTEBOOKS.glob(f"{chapter}_*.ipynb")
        found, stale = problems(page := read(path), reasons().get(chapter, {}))
        print(*found, *(f"excuses nothing: {quote}" for quote in stale), sep="\n")
        print(
            *(f"{claim.cell}: {wrong}" for claim in page.claims for wrong in claim.wrong), sep="\n"
        )
        print(f"{path.name}: {len(found)} to be covered, {len(stale)} reasons to go\n")


if __name__ == "__main__":
    main(sys.argv[1:])
