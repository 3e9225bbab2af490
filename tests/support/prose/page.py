"""A chapter as what people read in it, piece by piece, and the code beside each piece."""

import ast
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.prose import code

SENTENCES = {"claim": 1, "refuses": 1}
_OPEN = ("Exercises", "Remember")
_TITLE = re.compile(r"[A-Za-z].*\s.*[a-z]", re.S)


@dataclass(frozen=True)
class Cell:
    """One code cell: its place, tree, and what it printed."""

    index: int
    source: str
    tree: ast.Module
    printed: str
    tables: tuple[tuple[tuple[str, ...], ...], ...]

    def sentences(self) -> Iterator[tuple[str, ast.Call]]:
        """What its claims say, with the call that each stands in."""
        for node in ast.walk(self.tree):
            place = SENTENCES.get(getattr(getattr(node, "func", None), "id", ""))
            if isinstance(node, ast.Call) and place is not None and len(node.args) > place:
                yield literal(node.args[place]), node

    def titles(self) -> Iterator[tuple[str, ast.stmt]]:
        """The other strings that people read (titles, names of axes and of rows), each with the
        statement that it stands in."""
        said = {id(part) for _, call in self.sentences() for part in ast.walk(call.args[1])}
        formats = {id(p) for n in ast.walk(self.tree) if isinstance(n, ast.JoinedStr)
                   for v in n.values if isinstance(v, ast.FormattedValue) for p in ast.walk(v)}  # fmt: skip
        documents = {
            id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr)
        }
        for statement in self.tree.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    hidden = id(node) in said | formats | documents
                    if not hidden and _TITLE.search(node.value):
                        yield node.value, statement


@dataclass(frozen=True)
class Passage:
    """A piece of text that people read: where it is, and which cells stand beside it.

    `node` is the code that says it (a claim's call, the statement of a title), `said` are the parts
    of it that are the words themselves.
    """

    kind: str
    index: int
    text: str
    near: tuple[int, ...]
    section: tuple[int, ...]
    whole: bool = False
    node: ast.AST | None = None
    said: tuple[ast.AST, ...] = ()


@dataclass(frozen=True)
class Page:
    """A chapter's code cells and passages; `known` holds the names that its code gives to numbers."""

    name: str
    cells: dict[int, Cell]
    passages: list[Passage]
    known: dict[str, Any] = field(default_factory=dict)


def literal(node: ast.expr) -> str:
    """The words of a string in code; what an f-string fills in is left blank."""
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else " … "


def read(path: Path) -> Page:
    """A chapter, from its notebook."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    cells = {i: _cell(i, c) for i, c in enumerate(found) if c["cell_type"] == "code"}
    known: dict[str, Any] = {}
    for cell in cells.values():
        known |= code.assigned(cell.tree, known)
    return Page(path.stem, cells, list(_passages(found, cells)), known)


def _cell(index: int, cell: dict[str, Any]) -> Cell:
    source = "".join(cell["source"])
    printed, tables = [], []
    for output in cell["outputs"]:
        printed.append("".join(output.get("text", "")))
        shown = output.get("data", {})
        printed += ["".join(shown.get(kind, "")) for kind in ("text/plain", "text/markdown")]
        rows = "".join(shown.get("text/html", ""))
        tables += [_rows(table) for table in re.findall(r"<table.*?</table>", rows, re.S)]
    return Cell(index, source, code.parsed(source), "\n".join(printed), tuple(tables))


def _rows(table: str) -> tuple[tuple[str, ...], ...]:
    """The text of a table's cells, row by row; its caption, a title of the code, is left out."""
    rows = re.findall(r"<tr.*?</tr>", table, re.S)
    entries = (re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in rows)
    return tuple(tuple(html.unescape(re.sub("<[^>]*>", "", e)) for e in row) for row in entries)


def _passages(found: list[dict[str, Any]], cells: dict[int, Cell]) -> Iterator[Passage]:
    pieces = [(i, part) for i, cell in enumerate(found) for part in _parts(cell, i)]
    every = tuple(cells)
    section_of, title = {}, ""
    for place, (_, part) in enumerate(pieces):
        if part is not None and (heading := re.match(r"##? (.*)", part)):
            title = heading[1]
        section_of[place] = title
    sections: dict[str, list[int]] = {}
    for place, (index, part) in enumerate(pieces):
        if part is None:
            sections.setdefault(section_of[place], []).append(index)
    first = section_of[0]
    for place, (index, part) in enumerate(pieces):
        own = section_of[place]
        section = tuple(sections.get(own, ()))
        whole = own == first or own in _OPEN
        if part is not None:
            yield Passage("prose", index, part, _near(pieces, place), section, whole)
            continue
        for sentence, call in cells[index].sentences():
            said = tuple(call.args[:2])
            yield Passage("claim", index, sentence, (index,), section, node=call, said=said)
        for title, node in cells[index].titles():
            yield Passage("title", index, title, (index,), section, node=node)
    assert every


def _parts(cell: dict[str, Any], index: int) -> list[str | None]:
    """A markdown cell, cut at its headings; None for a code cell."""
    if cell["cell_type"] == "code":
        return [None]
    text = "".join(cell["source"])
    return [part for part in re.split(r"^(?=##? )", text, flags=re.M) if part.strip()]


def _near(pieces: list[tuple[int, str | None]], place: int) -> tuple[int, ...]:
    """The code cells up to the text before, and up to the text after."""
    near = []
    for step in (-1, 1):
        at = place + step
        if 0 <= at < len(pieces) and pieces[at][1] is not None and pieces[at][0] == pieces[place][0]:
            at += step
        while 0 <= at < len(pieces) and pieces[at][1] is None:
            near.append(pieces[at][0])
            at += step
    return tuple(near)
