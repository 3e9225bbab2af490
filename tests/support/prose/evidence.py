"""Where a number may come from: code, stored output, and the data that the code cites."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_utils.core import files
from tests.support.prose import code, units
from tests.support.prose.numbers import numbers, stem
from tests.support.prose.page import Cell, Page

PLAIN = "plain"
_CITED = re.compile(r"\bpublished\(\s*\"(\w+)\"")
_RECORDED = re.compile(r"\brecorded\(\s*\"(\w+)\"")


@dataclass(frozen=True)
class Source:
    """One number that evidence holds: its value, in base units where `kind` is known.

    `cell` is the code cell that holds or cites it, -1 for none; `where` says it to people. `live`
    ones differ from machine to machine. `rounds` is False for a constant of code: prose repeats it
    as it is.
    """

    value: float
    kind: str | None
    where: str
    cell: int
    labels: frozenset[str] = frozenset()
    factor: float = 1.0
    counted: str = ""
    live: bool = False
    rounds: bool = True

    @property
    def written(self) -> float:
        """As it stands there, without its unit."""
        return self.value / self.factor


def of_code(cell: Cell, page: Page, part: ast.AST | None = None) -> Iterator[Source]:
    """The numbers that its code holds, or one part of its code."""
    for value, name in code.constants(part or cell.tree, page.known):
        labels = frozenset(stem(word) for word in re.findall(r"[a-z]{3,}", (name or "").lower()))
        counted = stem((name or "").rpartition("_")[2])
        yield Source(value, None, f"the code of [{cell.index}]", cell.index, labels,
                     counted=counted, rounds=False)  # fmt: skip


def of_text(text: str, where: str, cell: int) -> Iterator[Source]:
    """The numbers that are printed somewhere."""
    for found in numbers(text):
        yield Source(
            found.value,
            found.kind,
            where,
            cell,
            found.labels,
            found.factor,
            found.counted,
            found.live,
        )


def of_output(cell: Cell) -> Iterator[Source]:
    """What the cell computed and printed; the sentences of its own code don't count."""
    printed = cell.without_sentences(cell.printed)
    where = f"the output of [{cell.index}]"
    yield from of_text(printed, where, cell.index)
    for rows in cell.tables:
        yield from _of_table(rows, where, cell.index)


def _of_table(rows: tuple[tuple[str, ...], ...], where: str, cell: int) -> Iterator[Source]:
    names = rows[0] if rows else ()
    for row in rows[1:]:
        words = re.findall(r"[A-Za-z]{3,}", " ".join(row))
        for name, entry in zip(names, row, strict=False):
            factor, kind = units.of_column(name)
            named = [*words, *re.findall(r"[A-Za-z]{3,}", name)]
            labels = frozenset(stem(word) for word in named)
            for found in numbers(entry):
                plain = found.kind is None
                factor = factor if plain else 1.0
                yield Source(
                    found.value * factor, kind if plain else found.kind, where, cell,
                    labels | found.labels, found.factor * factor, found.counted, found.live,
                )  # fmt: skip


def of_sentences(cell: Cell) -> Iterator[Source]:
    """What its claims and titles say: they are held against their own code."""
    for text, _ in (*cell.sentences(), *cell.titles()):
        yield from of_text(text, f"a sentence of [{cell.index}]", cell.index)
    for name, value in re.findall(r"(\w+) (\d+)", code.magics(cell.source)):
        counted = stem(name)
        labels = frozenset({counted})
        yield Source(float(value), None, f"the code of [{cell.index}]", cell.index, labels,
                     counted=counted, rounds=False)  # fmt: skip


def of_data(cell: Cell) -> Iterator[Source]:
    """The published and recorded rows that its code cites by name."""
    for name in _CITED.findall(cell.source):
        yield from _of_rows(_published(name), f"published {name}", cell.index)
    for name in _RECORDED.findall(cell.source):
        for path in sorted(files.DATA.glob(f"recorded/*/*/{name}.json")):
            rows = json.loads(path.read_text(encoding="utf-8"))
            yield from _of_rows(rows, f"recorded {name}", cell.index)


def _of_rows(found: dict[str, Any], where: str, cell: int) -> Iterator[Source]:
    yield from of_text(str(found.get("what", "")), where, cell)
    for row in found.get("rows", []):
        named = dict(zip(found["columns"], row, strict=True)) if "columns" in found else row
        yield from _of_row(named, where, cell)


def _of_row(row: dict[str, Any], where: str, cell: int) -> Iterator[Source]:
    words = " ".join(str(value) for value in row.values() if isinstance(value, str))
    labels = frozenset(stem(word) for word in re.findall(r"[A-Za-z]{3,}", words))
    for name, value in row.items():
        factor, kind = units.of_column(name)
        its = labels | {stem(word) for word in re.findall(r"[a-z]{3,}", name)}
        if isinstance(value, str):
            yield from of_text(value, where, cell)
        elif isinstance(value, dict):
            yield from _of_row({f"{key} {name}": one for key, one in value.items()}, where, cell)
        elif isinstance(value, (int, float)):
            yield Source(value * factor, kind or PLAIN, where, cell, its, factor)


@cache
def _published(name: str) -> dict[str, Any]:
    short = json.loads((files.DATA / "published.json").read_text(encoding="utf-8"))
    table = files.DATA / "published" / f"{name}.json"
    if name in short:
        return short[name]
    return json.loads(table.read_text(encoding="utf-8")) if table.exists() else {}


@cache
def _specs() -> list[dict[str, Any]]:
    return tomllib.loads((files.DATA / "gpus.toml").read_text(encoding="utf-8"))["gpu"]


def of_specs(text: str) -> Iterator[Source]:
    """The data sheets of the GPUs that a text names: an "A100" may be any of those."""
    for row in _specs():
        if re.search(rf"\b{re.escape(row['title'].split()[0])}\b", text):
            yield from _of_row(row, f"the sheet of {row['title']}", -1)
