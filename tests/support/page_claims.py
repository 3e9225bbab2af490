"""The claims of a page, as they stand in its code and as they were stored."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAMES = {"claim": "✓", "refuses": "✓", "follows": "∴"}
MARGIN = re.compile(r", margin (?:≈ )?([\d.,]+(?:e[-+]?\d+)?)\)$")


@dataclass(frozen=True)
class PageClaim:
    """One call of `claim`, `follows` or `refuses`, with the lines that its cell stored for it."""

    chapter: str
    cell: str
    id: str
    call: ast.Call
    stored: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.call.func.id

    @property
    def mark(self) -> str:
        return NAMES[self.name]

    @property
    def sentence(self) -> str:
        """As it is written; of an f-string, its fixed parts with … between."""
        return _sentence(self.call.args[1])

    @property
    def condition(self) -> ast.expr | None:
        named = {word.arg: word.value for word in self.call.keywords}
        given = self.call.args[2] if len(self.call.args) > 2 else named.get("condition")
        return given.body if isinstance(given, ast.Lambda) else given

    @property
    def margin(self) -> float | None:
        """The largest that was stored; None where no line has one."""
        found = [MARGIN.search(line) for line in self.stored]
        return max((float(m[1].replace(",", "")) for m in found if m), default=None)


def claims_of(path: Path) -> Iterator[PageClaim]:
    """Every claim of a notebook, in order."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            lines = "".join("".join(o.get("text", "")) for o in cell["outputs"]).splitlines()
            for call in calls_of("".join(cell["source"]), NAMES):
                if len(call.args) > 1:
                    id = getattr(call.args[0], "value", ast.unparse(call.args[0]))
                    yield PageClaim(path.stem, cell["id"], id, call, _stored(call, lines))


def calls_of(source: str, names) -> list[ast.Call]:
    """The calls of such names in a cell, whose magics are passed over, in the order of lines."""
    code = re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.M)
    calls = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Call)]
    return sorted((c for c in calls if getattr(c.func, "id", "") in names), key=lambda c: c.lineno)


def _stored(call: ast.Call, lines: list[str]) -> tuple[str, ...]:
    wording = ".+?".join(map(re.escape, _sentence(call.args[1]).split("…")))
    wanted = re.compile(rf"[✓∴–✗] {wording}(?: \(|: not |$)")
    return tuple(line for line in lines if wanted.match(line))


def _sentence(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_sentence, node.values))
    if isinstance(node, ast.BinOp):
        return _sentence(node.left) + _sentence(node.right)
    return str(node.value) if isinstance(node, ast.Constant) else "…"
