"""Errors in code, from bugs.toml, and errors in data: published figures a fifth too large."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from course_utils.core import files
from tools.plant.page import CantPlant, Page, set_source, source, tree
from tools.plant.plants import Edit, Plant

BUGS = Path(__file__).with_name("bugs.toml")
CITED = re.compile(r'\bpublished\(\s*"(\w+)"')
MEASURED = re.compile(r"second|per_s|error|gib|mib|mb\b|found|samples|tokens_|days")  # columns


@cache
def bugs() -> list[dict[str, str]]:
    """What bugs.toml lists."""
    found: list[dict[str, str]] = tomllib.loads(BUGS.read_text(encoding="utf-8"))["bug"]
    return found


def bugs_of(kind: str, stem: str) -> Iterator[Plant]:
    """The bugs whose page this is, each with the tests of its module."""
    for bug in bugs():
        if bug["chapter"] == stem:
            folder = f"tests/chapters/{stem.partition('_')[2]}"
            mine, others = _tests_of(bug["file"]), sorted((files.ROOT / folder).glob("test_*.py"))
            yield Plant(
                kind, stem, bug["file"], bug["what"], partial(plant_bug, bug=bug),
                mine, tuple(sorted({f"{folder}/{path.name}" for path in others} - set(mine))),
            )  # fmt: skip


def _tests_of(file: str) -> tuple[str, ...]:
    path = Path(file)
    mirror = Path("tests", *path.parts[1:-1], f"test_{path.stem}.py")
    there = path.suffix == ".py" and (files.ROOT / mirror).exists()
    return (mirror.as_posix(),) if there else ()


def plant_bug(root: Path, bug: dict[str, str]) -> None:
    """Changes one function of the copy. Raises: CantPlant where the text isn't there once."""
    path = root / bug["file"]
    if path.suffix == ".py":
        text = path.read_text(encoding="utf-8")
        path.write_text(_changed(text, ast.parse(text), bug), encoding="utf-8")
        return
    page = Page(path)
    for cell in page.code:
        if bug["function"] in _functions(tree(cell)):
            set_source(cell, _changed(source(cell), tree(cell), bug))
            page.save()
            return
    raise CantPlant(f"{bug['file']} has no function {bug['function']} (tools/plant/bugs.toml)")


def _changed(text: str, module: ast.Module, bug: dict[str, str]) -> str:
    """The text with the replacement made in the lines of the bug's function."""
    lines = text.splitlines(keepends=True)
    first, last = 0, len(lines)
    if bug["function"]:
        found = _functions(module).get(bug["function"])
        if found is None:
            raise CantPlant(f"{bug['file']} has no {bug['function']} (tools/plant/bugs.toml)")
        first, last = found.lineno - 1, found.end_lineno or found.lineno
    within = "".join(lines[first:last])
    if within.count(bug["find"]) != 1:
        where = f"{bug['file']}, {bug['function'] or 'outside of functions'}"
        raise CantPlant(
            f"{where}: {bug['find']!r} stands there {within.count(bug['find'])} times, not once "
            "(tools/plant/bugs.toml)"
        )
    within = within.replace(bug["find"], bug["replace"])
    return "".join([*lines[:first], within, *lines[last:]])


def _functions(module: ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions by name, methods by Class.method."""
    found = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            methods = [child for child in node.body if isinstance(child, ast.FunctionDef)]
            found |= {f"{node.name}.{method.name}": method for method in methods}
    return found


def published_changed(kind: str, stem: str) -> Iterator[Plant]:
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
