"""A stored notebook as something that can be changed: source and outputs, each by its cell's id."""

import ast
import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.figures.drawn.stamp import stamp

PNG = "image/png"
Cell = dict[str, Any]
MARKS = "✓∴"
SAYS = ("claim", "follows")


class CantPlant(Exception):
    """What was to be changed isn't there, or not once; the message says where."""


@dataclass(frozen=True)
class Claim:
    """One `claim(…)` or `follows(…)`: its call in its cell's code, its sentence if it's literal."""

    cell: Cell
    code: ast.Module
    call: ast.Call
    sentence: str | None

    def argument(self, name: str, place: int | None = None) -> ast.expr | None:
        """An argument by its keyword, or by its place."""
        for keyword in self.call.keywords:
            if keyword.arg == name:
                return keyword.value
        there = place is not None and place < len(self.call.args)
        return self.call.args[place] if there and place is not None else None

    @property
    def is_tested_here(self) -> bool:
        return self.argument("needs", 4) is None


class Page:
    """One notebook; `save` writes it back as it was stored."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = json.loads(path.read_text(encoding="utf-8"))

    @property
    def stem(self) -> str:
        return self.path.stem

    @property
    def cells(self) -> list[Cell]:
        return self.content["cells"]

    @property
    def code(self) -> list[Cell]:
        return [cell for cell in self.cells if cell["cell_type"] == "code"]

    @property
    def prose(self) -> list[Cell]:
        return [cell for cell in self.cells if cell["cell_type"] == "markdown"]

    def cell(self, id: str) -> Cell:
        return next(cell for cell in self.cells if cell["id"] == id)

    def save(self) -> None:
        text = json.dumps(self.content, indent=1, ensure_ascii=False)
        self.path.write_text(text + "\n", encoding="utf-8")

    def claims(self) -> Iterator[Claim]:
        for cell in self.code:
            code = tree(cell)
            for node in ast.walk(code):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in SAYS:
                    given = node.args[1] if len(node.args) > 1 else None
                    literal = isinstance(given, ast.Constant) and isinstance(given.value, str)
                    yield Claim(cell, code, node, given.value if literal else None)  # type: ignore[union-attr]


def source(cell: Cell) -> str:
    return "".join(cell["source"])


def set_source(cell: Cell, text: str) -> None:
    cell["source"] = text.splitlines(keepends=True)


def tree(cell: Cell) -> ast.Module:
    """The cell's Python, magic lines left out; nothing for a cell that is a magic as a whole."""
    text = source(cell)
    if text.startswith("%%"):
        return ast.Module([], [])
    return ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", text, flags=re.M))


def replace_in_source(cell: Cell, old: str, new: str) -> None:
    """Changes what stands once in a cell. Raises: CantPlant."""
    text = source(cell)
    if text.count(old) != 1:
        raise CantPlant(f"cell {cell['id']} has {text.count(old)} times: {old!r:.60}")
    set_source(cell, text.replace(old, new))


def replace_node(cell: Cell, node: ast.expr, new: str) -> None:
    """Changes the piece of source that a node of `tree(cell)` was read from."""
    lines = source(cell).splitlines(keepends=True)
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    cell["source"] = (
        lines[:first] + (before + new + after).splitlines(keepends=True) + lines[last + 1 :]
    )


def segment(cell: Cell, node: ast.expr) -> str:
    return ast.get_source_segment(source(cell), node) or ""


def change_texts(cell: Cell, change: Callable[[str], str]) -> None:
    """Passes every stored text of a cell (streams, text and HTML of results) through `change`."""
    for output in cell.get("outputs", []):
        if "text" in output:
            output["text"] = change("".join(output["text"])).splitlines(keepends=True)
        for kind, stored in output.get("data", {}).items():
            if kind.startswith("text/"):
                output["data"][kind] = change("".join(stored)).splitlines(keepends=True)


def texts(cell: Cell) -> Iterator[str]:
    """What `change_texts` would change."""
    for output in cell["outputs"]:
        yield "".join(output.get("text", ""))
        for kind, stored in output.get("data", {}).items():
            if kind.startswith("text/"):
                yield "".join(stored)


def replace_in_outputs(cell: Cell, old: str, new: str) -> None:
    """The same words in the stored outputs, also as HTML writes them; a picture is stamped anew."""
    for a, b in {(old, new), (html.escape(old), html.escape(new))}:
        change_texts(cell, lambda text, a=a, b=b: text.replace(a, b))  # type: ignore[misc]
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if PNG in data:
            png = stamp(base64.b64decode("".join(data[PNG])), "".join(data["text/plain"]))
            data[PNG] = base64.b64encode(png).decode()


def picture(cell: Cell) -> dict[str, Any] | None:
    """The stored data of a cell's first picture."""
    for output in cell["outputs"]:
        if PNG in output.get("data", {}):
            data: dict[str, Any] = output["data"]
            return data
    return None


def title(cell: Cell) -> str | None:
    """A figure's title: the first line of its stored text, without the mark."""
    data = picture(cell)
    text = "".join(data.get("text/plain", "")) if data else ""
    return (
        text.partition("\n")[0].removeprefix("[figure] ") if text.startswith("[figure] ") else None
    )
