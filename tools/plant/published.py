"""Errors in data: published figures a fifth too large."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.core import files
from tools.plant.page import Page, source
from tools.plant.plants import Edit, Plant

CITED = re.compile(r'\bpublished\(\s*"(\w+)"')
MEASURED = re.compile(r"second|per_s|error|gib|mib|mb\b|found|samples|tokens_|days")  # columns


def enlarged(kind: str, stem: str) -> Iterator[Plant]:
    """A number of an entry that this page is the first to cite, a fifth larger."""
    for name in _first_cited()[stem]:
        rows = _rows(_read(files.ROOT, name), name)
        for row, column in _figures(name):
            old = rows[row][column]
            what = f"row {row}, {column}: {old} → {_fifth_larger(old)}"
            yield Plant(kind, stem, name, what, _enlarging(name, row, column), _tests_naming(name))


def _enlarging(name: str, row: int, column: int | str) -> Edit:
    def edit(root: Path) -> None:
        content = _read(root, name)
        rows = _rows(content, name)
        rows[row][column] = _fifth_larger(rows[row][column])
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (root / _file_of(name)).write_text(text + "\n", encoding="utf-8")

    return edit


@cache
def _first_cited() -> dict[str, list[str]]:
    """By page, the published entries that no page before it cites."""
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for path in files.chapters():
        text = "\n".join(source(cell) for cell in Page(path).code)
        found[path.stem] = [n for n in dict.fromkeys(CITED.findall(text)) if n not in seen]
        seen |= set(found[path.stem])
    return found


def _file_of(name: str) -> str:
    own = f"data/published/{name}.json"
    return own if (files.ROOT / own).exists() else "data/published.json"


def _read(root: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((root / _file_of(name)).read_text(encoding="utf-8"))
    return content


def _rows(content: dict[str, Any], name: str) -> list[Any]:
    """The rows of an entry of published.json, or of a file of its own."""
    rows: list[Any] = (content if "columns" in content else content[name])["rows"]
    return rows


def _figures(name: str) -> Iterator[tuple[int, int | str]]:
    """(row, column) of what was measured; the columns that say of what are left alone."""
    content = _read(files.ROOT, name)
    for place, row in enumerate(_rows(content, name)):
        columns = (
            enumerate(content["columns"]) if isinstance(row, list) else zip(row, row, strict=True)
        )
        for key, column in columns:
            if type(row[key]) in (int, float) and row[key] and MEASURED.search(column):
                yield place, key


def _fifth_larger(value: float) -> float:
    return (
        round(value * 1.2) if isinstance(value, int) and value > 2 else float(f"{value * 1.2:.6g}")
    )


@cache
def _tests_naming(name: str) -> tuple[str, ...]:
    """Test files of the library that speak of a published entry."""
    paths = [p for p in (files.ROOT / "tests").rglob("test_*.py") if "pages" not in p.parts]
    named = [p for p in paths if f'"{name}"' in p.read_text(encoding="utf-8")]
    return tuple(path.relative_to(files.ROOT).as_posix() for path in sorted(named))
