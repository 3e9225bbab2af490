"""Which tests a change can reach: what imports or names a changed file, directly or through others.

The graph is read from the sources, not from a run: import statements, modules named in strings
(`import_module`), file names in strings (a widget's `.js`), the code cells of notebooks. What it
can't see (data, pins, fixtures) reaches everything.
"""

import ast
import json
import os
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

from course_utils.core.files import NOTEBOOKS, PACKAGES, ROOT, SOLUTIONS, chapters

EVERYTHING = re.compile(
    r"(data|\.ci|tools/(setup|test|report|affected|undecided|pretend))\b|requirements\.txt|pyproject\.toml"
    r"|packages/\w+/pyproject\.toml|Makefile|(tests/)?conftest\.py|tests/sanitise\.cfg|tests/pages/\w+\.toml|course_utils/(__init__|core/files)\.py"
)
EVERY_CHAPTER = (
    "tests/pages/test_structure.py",
    "tests/pages/test_answers.py",
    "tests/pages/test_claims.py",
    "tests/pages/test_figures.py",
    "tests/pages/test_mutants.py",
    "tests/pages/test_predictions.py",
    "tests/pages/test_prose.py",
    "tests/lesson/test_progress.py",
    "tests/pages/conditions/test_conditions.py",
    "tests/pages/rehearsal/test_pretended_gpu.py",
)
LATELY_HOURS = 12  # before the newest commit
# Chapters that are tested thoroughly because they changed; the rest by CI and `make test-all`.
MOST_CHAPTERS = None if os.environ.get("CI") else 4
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # what git calls it
# The folder that each top-level package can be imported from.
HOMES = {"course_utils": ROOT, "tests": ROOT, "tools": ROOT} | {p.name: p for p in PACKAGES}
RANKS = "notebook_ranks.page.magic"  # what `%load_ext course_utils` loads
HOUSE = "tests/test_house.py"  # reads every module and page as text
DOOR = "course_utils/lesson/exercises.py"  # names every checker; a chapter needs its own only


class NothingToCompare(Exception):
    """Git can't say what changed; the message says why."""


def changed_files(since: str = "HEAD") -> list[str]:
    """Files of the tree that differ from commit `since`, and those git doesn't know yet.

    Raises: NothingToCompare for a commit that isn't there, and outside a git checkout.
    """
    about = f"{since} can't be compared"
    found = _git("diff", "--name-only", "--no-renames", "-z", since, "--", about=about)
    found += _git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted(set(filter(None, found.split("\0"))))


def _git(*command: str, about: str = "git can't tell what changed") -> str:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise NothingToCompare(f"{about}: {done.stderr.strip().partition(chr(10))[0]}")
    return done.stdout


def lately_changed(hours: float, since: str = "") -> list[str]:
    """Files that differ from commit `since`, or else from the newest commit `hours` before HEAD.

    With the uncommitted ones, and without notebooks whose code is the same. All files where the
    whole history is younger; where git can't tell, a line says so, and only uncommitted files
    count, or none.
    """
    try:
        if since and _git("cat-file", "-t", since, about=f"SINCE={since}"):
            return _changed_in_code(since)
    except (NothingToCompare, FileNotFoundError) as problem:
        print(f"{problem}: the last {hours:g} hours count instead")
    try:
        before = f"--before={int(_git('log', '-1', '--format=%ct')) - hours * 3600:.0f}"
        then = _git("rev-list", "-1", "--first-parent", before, "HEAD").strip()
        if not then and _git("rev-parse", "--is-shallow-repository").strip() == "true":
            print("The history was cut off: what changed lately can't be told")
            then = "HEAD"
        return _changed_in_code(then or EMPTY_TREE)
    except (NothingToCompare, FileNotFoundError) as problem:
        print(f"{problem}: only `make test-all` tests everything thoroughly")
        return []


def _changed_in_code(since: str) -> list[str]:
    """`changed_files` without notebooks that differ in words and outputs only."""

    def is_same(path: str) -> bool:
        if not path.endswith(".ipynb") or not (ROOT / path).exists():
            return False
        with suppress(NothingToCompare, ValueError):
            before = _git("show", f"{since}:{path}", about="new")
            return _code_of(before) == _code_of((ROOT / path).read_text(encoding="utf-8"))
        return False

    return [path for path in changed_files(since) if not is_same(path)]


def _code_of(notebook: str) -> list[str]:
    cells = json.loads(notebook)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def chapters_in(changed: Collection[str]) -> list[str]:
    """Stems of the chapters whose page, solutions, modules or tests are among them, in order."""
    mine = {
        path.stem: (
            _name(path),
            _name(SOLUTIONS / path.name),
            f"course_utils/chapters/{path.stem[3:]}/",
            f"tests/chapters/{path.stem[3:]}/",
        )
        for path in chapters()
    }
    return [stem for stem, own in mine.items() if any(one.startswith(own) for one in changed)]


def reached_by(changed: Iterable[str]) -> list[str] | None:
    """Test files and notebooks, as paths below the root, that a change can reach; None for all."""
    changed = set(changed)
    if any(EVERYTHING.match(path) for path in changed):
        return None
    found = {path for path in targets() if changed & {path, *reached_from(path)}}
    if any(path.startswith(("course_utils/", "notebooks/", "packages/")) for path in changed):
        found.add(HOUSE)
    if any(path.endswith(".ipynb") for path in found):
        found |= set(EVERY_CHAPTER)
    return sorted(found)


def own_tests(stem: str) -> list[str]:
    """Test files of the rooms that this chapter uses and no other does."""
    mine = set(reached_from(f"notebooks/{stem}.ipynb"))
    for other in NOTEBOOKS.glob("*.ipynb"):
        if other.stem != stem:
            mine -= set(reached_from(_name(other)))
    mine = {room for room in mine if not room.endswith("/exercises.py")}
    return [t for t in targets() if t.endswith(".py") and mine & reached_from(t)]


@cache
def targets() -> list[str]:
    """Everything that pytest runs: test files, chapters, solutions."""
    tests = [p for part in ("tests", "packages") for p in (ROOT / part).rglob("test_*.py")]
    return sorted(map(_name, [*tests, *NOTEBOOKS.glob("*.ipynb"), *SOLUTIONS.glob("*.ipynb")]))


@cache
def reached_from(path: str) -> frozenset[str]:
    """Every file that `path` depends on, at any distance."""
    waiting = list(used_by(path) | _checkers(path))
    found = set(waiting)
    while waiting:
        new = used_by(waiting.pop()) - found
        found |= new
        waiting += new
    return frozenset(found)


def _checkers(path: str) -> frozenset[str]:
    """The checkers of a notebook's exercises; all of them for a test."""
    rooms = (ROOT / "course_utils" / "chapters").glob("*/exercises.py")
    if path.endswith(".ipynb"):
        chapter = Path(path).stem.partition("_")[2]
        return frozenset(_name(room) for room in rooms if room.parent.name == chapter)
    if DOOR not in used_by(path):
        return frozenset()
    return frozenset(map(_name, [*rooms, *(ROOT / "tests/chapters").glob("*/*_answers.py")]))


@cache
def used_by(path: str) -> frozenset[str]:
    """The files that one file imports or names, and a test's fixtures."""
    if not path.endswith((".py", ".ipynb")):
        return frozenset()
    found = set(_fixtures_of(path))
    for text in _sources(ROOT / path):
        found |= set(_named_in(ast.parse(text), strings=path != DOOR))
    return frozenset(found - {path})


def _fixtures_of(path: str) -> Iterator[str]:
    """The `conftest.py` of each folder of a test file but `tests`, whose own reaches everything."""
    folders = Path(path).parents if Path(path).name.startswith("test_") else ()
    for folder in folders[:-2]:
        if (ROOT / folder / "conftest.py").exists():
            yield f"{folder.as_posix()}/conftest.py"


def _sources(path: Path) -> Iterator[str]:
    """A Python file, or the code cells of a notebook that are Python once magics are left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield text
        return
    for source in _code_of(text):
        lines = source.splitlines()
        yield "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
        if any("load_ext course_utils" in line for line in lines):
            yield f"import {RANKS}"


def _named_in(tree: ast.AST, strings: bool) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _behind(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                room = _rooms(node.module).get(alias.name, alias.name)
                yield from _module(node.module)
                yield from _behind(f"{node.module}.{room}")
        elif strings and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _module(node.value.rstrip("."), whole=node.value.endswith("."))
            yield from _files_called().get(node.value.rsplit("/", 1)[-1], ())
            yield from _in_quoted_code(node.value)


def _behind(name: str) -> Iterator[str]:
    """The files of a module; of a door, all that it leads to."""
    name = "notebook_ranks" if name == "course_utils.ranks" else name
    yield from _module(name)
    for behind in set(_rooms(name).values()):
        yield from _module(f"{name}.{behind}")


def _in_quoted_code(text: str) -> Iterator[str]:
    """The files that code in a string imports (tests hand cells to a kernel like that)."""
    for module, names in re.findall(r"from ([a-z]\w*[\w.]*) import ([\w, ]+)", text):
        with suppress(SyntaxError):
            yield from _named_in(ast.parse(f"from {module} import {names}"), strings=False)
    if re.search("load_ext (course_utils|notebook_ranks)", text):
        yield from _module(RANKS)


def _rooms(package: str) -> dict[str, str]:
    """Which module has which of the names that a package offers at its door."""
    if not _module(f"{package}.__init__"):
        return {}
    rooms: dict[str, str] = getattr(import_module(package), "MODULE_OF", {})
    return rooms


def _module(name: str, whole: bool = False) -> list[str]:
    """The files of a module of this project; with `whole`, every module of a package."""
    if not re.fullmatch(rf"({'|'.join(HOMES)})(\.\w+)*", name):
        return []
    path = HOMES[name.partition(".")[0]] / name.replace(".", "/")
    if path.with_suffix(".py").exists():
        return [_name(path.with_suffix(".py"))]
    if whole and path.is_dir():
        return [_name(p) for p in path.glob("*.py")]
    return [_name(path / "__init__.py")] if (path / "__init__.py").exists() else []


@cache
def _files_called() -> dict[str, list[str]]:
    """Files that are named by their name alone: what a widget loads, what a page shows."""
    found: dict[str, list[str]] = {}
    kinds_in = {
        "course_utils": "js css html",
        "packages": "js css html md",
        "notebooks": "ipynb",
        "tools": "sh txt",
    }
    kinds_in["."] = "md yml"
    for folder, kinds in kinds_in.items():
        for kind in kinds.split():
            for path in (ROOT / folder).glob(f"{'**/' if folder != '.' else ''}*.{kind}"):
                found.setdefault(path.name, []).append(_name(path))
    return found


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
