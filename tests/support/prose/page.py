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

SENTENCES = {"claim": 1, "follows": 1, "refuses": 1}
FILLED = " … "
_SHORT = 5
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

    def without_sentences(self, text: str) -> str:
        """A text without what its claims and titles say, which is no evidence of itself."""
        said = [said for said, _ in (*self.sentences(), *self.titles())]
        pieces = {piece for words in said for piece in words.split(FILLED) if len(piece) > _SHORT}
        for words in sorted(pieces, key=len, reverse=True):
            text = text.replace(words, " ")
        return text

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
        parts = (n.values for n in ast.walk(self.tree) if isinstance(n, ast.JoinedStr))
        filled = [v for values in parts for v in values if isinstance(v, ast.FormattedValue)]
        formats = {id(part) for value in filled for part in ast.walk(value)}
        documents = {id(n.value) for n in ast.walk(self.tree) if isinstance(n, ast.Expr)}
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
    """A chapter's code cells and passages; `known` are the names that its code gives to numbers."""

    name: str
    cells: dict[int, Cell]
    passages: list[Passage]
    known: dict[str, Any] = field(default_factory=dict)


def literal(node: ast.expr) -> str:
    """The words of a string in code; what an f-string fills in is left blank."""
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else FILLED


def read(path: Path) -> Page:
    """A chapter, from its notebook."""
    return of_cells(path.stem, json.loads(path.read_text(encoding="utf-8"))["cells"])


def of_cells(name: str, found: list[dict[str, Any]]) -> Page:
    """A page of these cells of a notebook."""
    cells = {i: _cell(i, c) for i, c in enumerate(found) if c["cell_type"] == "code"}
    known: dict[str, Any] = {}
    for cell in cells.values():
        known |= code.assigned(cell.tree, known)
    return Page(name, cells, list(_passages(found, cells)), known)


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


@dataclass(frozen=True)
class _Piece:
    """A cell, or a part of a text that a heading cuts: the cell's place, words, section."""

    index: int
    words: str | None
    section: str


def _pieces(found: list[dict[str, Any]]) -> Iterator[_Piece]:
    section = ""
    for index, cell in enumerate(found):
        if cell["cell_type"] == "code":
            yield _Piece(index, None, section)
            continue
        for words in re.split(r"^(?=##? )", "".join(cell["source"]), flags=re.M):
            if heading := re.match(r"##? (.*)", words):
                section = heading[1]
            if words.strip():
                yield _Piece(index, words, section)


def _passages(found: list[dict[str, Any]], cells: dict[int, Cell]) -> Iterator[Passage]:
    pieces = list(_pieces(found))
    whole = {pieces[0].section, *_OPEN}
    for place, piece in enumerate(pieces):
        here = [p.index for p in pieces if p.words is None and p.section == piece.section]
        section, open_to_all = tuple(here), piece.section in whole
        if piece.words is not None:
            near = tuple(_near(pieces, place))
            yield Passage("prose", piece.index, piece.words, near, section, open_to_all)
        else:
            yield from _of_code(cells[piece.index], section)


def _of_code(cell: Cell, section: tuple[int, ...]) -> Iterator[Passage]:
    own = (cell.index,)
    for sentence, call in cell.sentences():
        said = tuple(call.args[:2])
        yield Passage("claim", cell.index, sentence, own, section, node=call, said=said)
    for title, statement in cell.titles():
        yield Passage("title", cell.index, title, own, section, node=statement)


def _near(pieces: list[_Piece], place: int) -> Iterator[int]:
    """The code cells of its section up to the text before, and up to the text after."""
    for step in (-1, 1):
        at = place + step
        while 0 <= at < len(pieces) and pieces[at].index == pieces[place].index:
            at += step
        own = pieces[place].section
        while 0 <= at < len(pieces) and pieces[at].words is None and pieces[at].section == own:
            yield pieces[at].index
            at += step
