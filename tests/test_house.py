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
    "core", "figures", "workloads", "memory", "judging", "lesson", "chapters", "cli", "__main__",
)  # fmt: skip
WHERE = f"""
Where a line belongs (CONTRIBUTING.md): what one chapter uses, in chapters/<that chapter>; what a
chapter before it needs too, in workloads, memory or ranks; what every page needs, in core
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


def is_module(value):
    return isinstance(value, str) and "." in value and value in modules()


@cache
def imports(name):
    """(imported module, name taken of it or None, line) of each import of the course, and of each
    module that a string names."""
    found = []
    for node in ast.walk(ast.parse(modules()[name].read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_utils"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                one = (inner, None) if inner in modules() else (node.module, alias.name)
                found.append((*one, node.lineno))
        elif isinstance(node, ast.Import):
            found += [(a.name, None, node.lineno) for a in node.names if a.name in modules()]
        elif isinstance(node, ast.Constant) and is_module(node.value):
            found.append((node.value, None, node.lineno))
    return found


def folder(module):
    """The folder below `course_utils` that a module lives in; the root's own is ''."""
    return module.partition(".")[2].partition(".")[0]


def arrows():
    """(module, imported module, name taken, where) across folders; the root may import all."""
    for name in modules():
        for target, taken, line in imports(name):
            if folder(name) not in ("", folder(target)):
                yield name, target, taken, f"{modules()[name].relative_to(files.ROOT)}:{line}"


def test_the_root_holds_folders_only():
    found = {path.name for path in HOME.iterdir()} - {"__pycache__"}
    strangers = [name for name in found if Path(name).suffix]
    assert sorted(strangers) == ["__init__.py", "__main__.py"], WHERE
    assert {name for name in found if not Path(name).suffix} == {*LAYERS[:-1], "ranks"}, WHERE


def test_arrows_run_down():
    upwards = [
        f"{where} imports {target}, which is above it"
        for name, target, _, where in arrows()
        if "ranks" not in (folder(name), folder(target))
        and LAYERS.index(folder(target) or "__main__") >= LAYERS.index(folder(name))
    ]
    assert upwards == [], "\n".join([*upwards, WHERE])


def test_ranks_could_be_a_package_of_its_own():
    taken = [f"{where} imports {to}" for name, to, _, where in arrows() if folder(name) == "ranks"]
    assert taken == [], "\n".join([*taken, "ranks imports nothing else of the course.", WHERE])


def test_nothing_below_the_chapters_needs_ranks():
    users = {folder(name) for name, to, _, _ in arrows() if folder(to) == "ranks"}
    assert users <= {"chapters", "cli", "__main__"}, WHERE


def test_a_chapter_imports_only_chapters_that_it_comes_after():
    order = [chapter.stem.partition("_")[2] for chapter in catalog.chapters()]
    wrong = []
    for name in modules():
        for target, _, line in imports(name):
            if name.startswith("course_utils.chapters.") and "utils.chapters." in target:
                mine, other = name.split(".")[2], target.split(".")[2]
                if order.index(other) > order.index(mine):
                    wrong.append(f"{name}, line {line}, imports {target}, a later chapter's")
    assert wrong == [], "\n".join([*wrong, WHERE])


def test_no_module_imports_itself_through_others():
    graph = {
        name: {t for t, _, _ in imports(name) if t != name and t not in packages()} - typed(name)
        for name in set(modules()) - packages()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"A circle of imports: {' → '.join(error.args[1])}")


def typed(name):
    """What a module imports for its annotations alone."""
    found = set()
    for node in ast.walk(ast.parse(modules()[name].read_text())):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            found |= {n.module for n in ast.walk(node) if isinstance(n, ast.ImportFrom)}
    return found


def test_nobody_uses_another_folders_private_names():
    taken = [
        f"{where} takes {name} from {target}"
        for _, target, name, where in arrows()
        if name and name.startswith("_") and not name.startswith("__")
    ]
    for name in modules():
        own = {
            target.rpartition(".")[2]: target for target, taken_, _ in imports(name) if not taken_
        }
        for node in ast.walk(ast.parse(modules()[name].read_text())):
            if (
                isinstance(node, ast.Attribute)
                and re.match(r"_[a-z]", node.attr)
                and isinstance(node.value, ast.Name)
                and folder(own.get(node.value.id, name)) != folder(name)
            ):
                taken.append(f"{name}, line {node.lineno}: {node.value.id}.{node.attr}")
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
