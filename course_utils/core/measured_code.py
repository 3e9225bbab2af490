"""Which code an experiment rests on, as a digest: a recording knows when it is older than that.

The code of an experiment is found in the source, not by running it: the statements of the
notebook that its `record` needs, backwards through the names they use, and the functions of the
library that those name, and so on. What draws, claims or keeps is left out, and so are comments,
layout, docstrings, the sentences of claims and the room that a function lives in.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from course_utils.core import files

KEEPS = re.compile(r"\b(?:record|record_each|record_snapshot)\b")
MEASURES_NOTHING = re.compile(
    r"(figures|lesson|cli|judging|memory\.views)\b|.+\.(exercises|\w+_widget)$"
    r"|core\.(claims|doors|evidence|files|machine|measured_code|recording|running)$"
)
Statement = ast.stmt
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@cache
def code_of(chapter: str, experiment: str) -> str:
    """Twelve hexadecimal digits that change when the code which measures an experiment does.

    For an experiment that no statement of the page names (`claims`, and those recorded in a loop
    over names), all of the page's code counts.
    """
    statements = page_statements(files.chapter_path(chapter))
    kept = [s for s in statements if _keeps(s, experiment)]
    page = _needed(statements, kept) if kept else statements
    found: dict[str, set[str]] = {}
    used = set().union(*map(_uses, page))
    for name, place in _Code(page).elsewhere.items():
        if name in used:
            _follow(*place, found)
    parts = [_spelled(s) for s in page if not isinstance(s, ast.Import | ast.ImportFrom)]
    parts += [f"{name}: {''.join(sorted(codes))}" for name, codes in sorted(found.items())]
    text = "\n".join(parts)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def page_statements(path: Path) -> list[Statement]:
    """The statements of a notebook's code cells, in order; magics' lines are left out."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    lines = ("\n".join(re.sub(r"^\s*[%!].*$", "pass", s, flags=re.M) for s in sources)).strip()
    return ast.parse(lines).body


def _keeps(statement: Statement, experiment: str) -> bool:
    """Whether a statement holds `record("experiment", ...)`, or `record_each` and its kin."""
    return any(
        isinstance(call, ast.Call)
        and KEEPS.fullmatch(getattr(call.func, "id", ""))
        and call.args
        and getattr(call.args[0], "value", None) == experiment
        for call in ast.walk(statement)
    )


def _needed(statements: list[Statement], kept: list[Statement]) -> list[Statement]:
    """The kept statements and every one, before or beside them, that binds a name they use."""
    last = max(statements.index(s) for s in kept)
    needed, names = set(map(id, kept)), set().union(*map(_uses, kept))
    grown = True
    while grown:
        grown = False
        for statement in statements[: last + 1]:
            if id(statement) not in needed and names & _binds(statement):
                needed.add(id(statement))
                names |= _uses(statement)
                grown = True
    return [s for s in statements if id(s) in needed]


SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def _uses(node: ast.AST) -> set[str]:
    """The names that a node takes from around it: its own functions' and loops' aren't counted."""
    taken, own = set(), set()
    for child in ast.iter_child_nodes(node):
        taken |= _uses(child)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        taken.add(node.id)
    elif isinstance(node, SCOPES + DEFINES):
        own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_stored(n)}
        own |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return taken - own


def _binds(node: ast.AST) -> set[str]:
    """The names that a statement gives a value, besides those inside functions and loops."""
    if isinstance(node, DEFINES):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, SCOPES):
        return {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
    if isinstance(node, ast.Name):
        return {node.id} if _is_stored(node) else set()
    return set().union(*map(_binds, ast.iter_child_nodes(node)))


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _place(module: str, name: str) -> tuple[str, str] | None:
    """The room and the name that `from module import name` leads to; the name `*` for all of it.

    None for what isn't the course's.
    """
    package, *folders = module.split(".")
    if package != "course_utils":
        return None
    if not _is_folder(".".join(folders)):
        return ".".join(folders), name
    rooms = _rooms(".".join(folders))
    room = ".".join([*folders, rooms.get(name, name)])
    return room, name if name in rooms else "*"


def _is_folder(room: str) -> bool:
    return (files.ROOT / "course_utils" / room.replace(".", "/")).is_dir()


def _rooms(room: str) -> dict[str, str]:
    """What the door of a folder offers: the module of each name; nothing for a module."""
    package = f"course_utils.{room}".rstrip(".")
    found: dict[str, str] = {}
    return getattr(import_module(package), "ROOMS", found) if _is_folder(room) else found


def _follow(room: str, name: str, found: dict[str, set[str]]) -> None:
    """Adds a name of a room to `found`, with its code, and all that this code rests on.

    Rooms may have a name in common: a name has all their codes, in whatever order they were met.
    """
    if MEASURES_NOTHING.match(room) or not (code := _room(room)):
        return
    if name == "*":  # a folder's door is as good as all that it offers
        for offered, module in _rooms(room).items():
            _follow(f"{room}.{module}", offered, found)
    for one in list(code.own) if name == "*" else [name]:
        if one in code.elsewhere and one not in code.own:
            _follow(*code.elsewhere[one], found)
        for spelled, used in code.own.get(one, ()):
            if spelled in found.setdefault(one, set()):
                continue
            found[one].add(spelled)
            for other in used - {one}:
                _follow(*code.elsewhere.get(other, (room, other)), found)


class _Code:
    """What a page or a room binds: its own names, each with its code and the names that this code
    uses, and the names that it imports from other rooms."""

    def __init__(self, body: list[Statement]) -> None:
        self.own: dict[str, list[tuple[str, set[str]]]] = {}
        self.elsewhere: dict[str, tuple[str, str]] = {}
        for statement in body:
            if isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    if place := _place(statement.module or "", alias.name):
                        self.elsewhere[alias.asname or alias.name] = place
            elif not isinstance(statement, ast.Import):
                for name in _binds(statement):
                    code = (_spelled(statement), _uses(statement))
                    self.own.setdefault(name, []).append(code)


@cache
def _room(room: str) -> _Code | None:
    base = files.ROOT / "course_utils" / room.replace(".", "/")
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return _Code(ast.parse(path.read_text(encoding="utf-8")).body)
    return None


def _spelled(node: ast.AST) -> str:
    """A node as text that is the same on every Python: kinds, names and constants in order."""
    without = {id(text) for text in (*_docstrings(node), *_sentences(node))}
    parts: list[Any] = []
    for each in ast.walk(node):
        if id(each) not in without:
            plain = (v for _, v in ast.iter_fields(each) if isinstance(v, str | int | float))
            parts += [type(each).__name__, *map(repr, plain)]
    return " ".join(parts)


def _docstrings(node: ast.AST) -> Iterator[ast.AST]:
    for each in ast.walk(node):
        if isinstance(each, DEFINES) and each.body and isinstance(each.body[0], ast.Expr):
            yield from ast.walk(each.body[0])


def _sentences(node: ast.AST) -> Iterator[ast.AST]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and getattr(each.func, "id", "") in ("claim", "refuses"):
            yield from (part for text in each.args[1:2] for part in ast.walk(text))
