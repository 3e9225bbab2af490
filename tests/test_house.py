"""The house: which folder may import which, and what a folder shows at its door."""

import ast
import json
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from course_utils.core import files
from course_utils.lesson import catalog

HOME = files.ROOT / "course_utils"
LAYERS = (
    "core", "figures", "workloads", "memory", "traces", "judging", "lesson", "chapters", "cli",
    "__main__",
)  # fmt: skip
NAMED = re.compile(r"course_utils(\.\w+)+")
PRIVATE = re.compile(r"_[^_]")
BY_NAME = {  # modules found by name, where somebody else imported them or a reader asks for them
    ("course_utils.lesson.exercises", "course_utils.chapters"),
    ("course_utils.core.timing", "course_utils.ranks.engine.crew"),
}
RANKS = ("processes", "watch", "groups", "cells", "page", "engine", "session", "orders")
WHERE = f"""
Where a line belongs (CONTRIBUTING.md): what one chapter uses, in chapters/<that chapter>; what a
chapter before it needs too, in workloads, memory, traces or ranks; what every page needs, in core
(numbers), figures (pictures) or lesson (the reader); what a terminal runs, in cli. Arrows run
down only: {" < ".join(LAYERS)}"""


@cache
def modules():
    """Every module of the library by its dotted name; a folder is its `__init__`."""
    found = {}
    for path in HOME.rglob("*.py"):
        name = ".".join(path.relative_to(files.ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


@cache
def packages():
    return {name for name, path in modules().items() if path.name == "__init__.py"}


@cache
def tree(name):
    return ast.parse(modules()[name].read_text())


@cache
def imports(name):
    """(module, name taken of it or None, the name it has here, line) of each import of the course.

    A string that begins with a module's name ("course_utils.core.timing:measure") counts too.
    """
    found = []
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_utils"):
            for alias in node.names:
                inner, own = f"{node.module}.{alias.name}", alias.asname or alias.name
                whole = inner in modules()
                taken = (inner, None) if whole else (node.module, alias.name)
                found.append((*taken, own, node.lineno))
        elif isinstance(node, ast.Import):
            found += [(a.name, None, a.asname or a.name, node.lineno) for a in node.names]
        elif isinstance(node, ast.Constant) and (named := NAMED.match(str(node.value))):
            parts = named[0].split(".")
            longest = (".".join(parts[:n]) for n in range(len(parts), 1, -1))
            found += [(m, None, "", node.lineno) for m in longest if m in modules()][:1]
    return [one for one in found if one[0].startswith("course_utils")]


def folder(module):
    """The folder below `course_utils` that a module lives in; the root's own is ''."""
    return module.partition(".")[2].partition(".")[0]


def place(module):
    """The package that a module lives in, whole."""
    return module if module in packages() else module.rpartition(".")[0]


def where(name, line):
    return f"{modules()[name].relative_to(files.ROOT)}:{line}"


def arrows():
    """(module, imported module, where) across folders; the root and those named may import all."""
    for name in modules():
        for target, _, _, line in imports(name):
            if folder(name) not in ("", folder(target)) and (name, target) not in BY_NAME:
                yield name, target, where(name, line)


def test_the_root_holds_folders_only():
    found = {path.name for path in HOME.iterdir()} - {"__pycache__"}
    strangers = [name for name in found if Path(name).suffix]
    assert sorted(strangers) == ["__init__.py", "__main__.py"], WHERE
    assert {name for name in found if not Path(name).suffix} <= {*LAYERS[:-1], "ranks"}, WHERE


def test_arrows_run_down_inside_ranks_too():
    found = []
    for name in modules():
        for target, _, _, line in imports(name):
            rooms = [part.split(".")[2:3] for part in (name, target)]
            if all(room and room[0] in RANKS for room in rooms) and folder(name) == "ranks":
                own, other = (RANKS.index(room[0]) for room in rooms)
                if other > own and folder(target) == "ranks":
                    found.append(f"{where(name, line)} imports {target}: {' < '.join(RANKS)}")
    assert found == []


def test_arrows_run_down():
    upwards = [
        f"{line} imports {target}, which is above it"
        for name, target, line in arrows()
        if "ranks" not in (folder(name), folder(target))
        and LAYERS.index(folder(target) or "__main__") >= LAYERS.index(folder(name))
    ]
    assert upwards == [], "\n".join([*upwards, WHERE])


def test_ranks_could_be_a_package_of_its_own():
    mine = [(target, line) for name, target, line in arrows() if folder(name) == "ranks"]
    taken = [f"{line} imports {target}" for target, line in mine]
    assert taken == [], "\n".join([*taken, "ranks imports nothing else of the course.", WHERE])


def test_nothing_below_the_chapters_needs_ranks():
    users = {folder(name) for name, target, _ in arrows() if folder(target) == "ranks"}
    assert users <= {"chapters", "cli", "__main__"}, WHERE


def test_a_chapter_imports_only_chapters_that_it_is_built_on():
    chapters = {chapter.stem.partition("_")[2]: chapter for chapter in catalog.chapters()}
    numbers = {chapter.number: name for name, chapter in chapters.items()}

    def built_on(name):
        before = {numbers[number] for number in chapters[name].after}
        return before.union(*map(built_on, before))

    wrong = []
    for name in modules():
        for target, _, _, line in imports(name):
            if folder(name) == folder(target) == "chapters":
                mine, other = name.split(".")[2], target.split(".")[2]
                if other != mine and other not in built_on(mine):
                    wrong.append(f"{where(name, line)} imports {target}; data/course.json: `after`")
    assert wrong == [], "\n".join([*wrong, WHERE])


def test_inside_the_library_a_module_is_imported_by_its_full_path():
    wrong = []
    for name in modules():
        nodes = [n for n in ast.walk(tree(name)) if isinstance(n, ast.ImportFrom)]
        wrong += [where(name, node.lineno) for node in nodes if node.level]
        wrong += [
            f"{where(name, line)}: {taken} comes through the door of {target}"
            for target, taken, _, line in imports(name)
            if taken and target in packages() and name not in packages()
        ]
    assert wrong == []


def test_no_module_imports_itself_through_others():
    graph = {name: really(name) - packages() - {name} for name in set(modules()) - packages()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"A circle of imports: {' → '.join(error.args[1])}")


def really(name):
    """What a module imports, but for what its annotations alone need."""
    ifs = [node for node in ast.walk(tree(name)) if isinstance(node, ast.If)]
    typed = [node for node in ifs if "TYPE_CHECKING" in ast.dump(node.test)]
    lines = {line for node in typed for line in range(node.lineno, node.end_lineno + 1)}
    return {target for target, _, _, line in imports(name) if line not in lines}


def test_nobody_uses_another_folders_private_names():
    taken = []
    for name in modules():
        elsewhere = [one for one in imports(name) if place(one[0]) != place(name)]
        whole = {own for _, part, own, _ in elsewhere if part is None}
        taken += [
            f"{where(name, line)} takes {part} from {target}"
            for target, part, _, line in elsewhere
            if part and PRIVATE.match(part)
        ]
        taken += [
            f"{where(name, node.lineno)}: {ast.unparse(node)}"
            for node in ast.walk(tree(name))
            if isinstance(node, ast.Attribute)
            and PRIVATE.match(node.attr)
            and ast.unparse(node.value) in whole
        ]
    assert taken == [], "\n".join([*taken, "Give it a public name, or ask for what you need."])


@pytest.mark.parametrize("package", sorted(packages()))
def test_a_door_offers_what_is_behind_it_and_hides_no_module(package):
    rooms = getattr(import_module(package), "ROOMS", {})
    hidden = [name for name in rooms if f"{package}.{name}" in modules()]
    assert hidden == [], "a module of that name is there: whichever is imported first would win"
    missing = [n for n, room in rooms.items() if not hasattr(import_module(package), n)]
    assert missing == []
    assert set(rooms) <= set(dir(import_module(package)))
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = import_module(package).nothing_of_that_name


PAGES = [*files.chapters(), files.INDEX, *sorted(files.SOLUTIONS.glob("*.ipynb"))]
IMPORT = re.compile(r"^from (course_utils[\w.]*) import", re.M)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_comes_in_by_the_doors(path):
    sources = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
    used = set().union(*map(IMPORT.findall, sources))
    assert used <= packages(), (
        "add the name to its module in the folder's __init__, and import it there"
    )
