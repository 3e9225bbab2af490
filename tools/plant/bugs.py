"""Errors in the code of the library and of the pages, from bugs.toml."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from course_utils.core import files
from tools.plant.page import CantPlant, Page, set_source, source, tree
from tools.plant.plants import Plant

BUGS = Path(__file__).with_name("bugs.toml")


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
