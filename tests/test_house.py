"""The house: which folder may import which, and what a folder shows at its door."""

import ast
import json
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

from course_utils.core import files
from course_utils.lesson import catalog

ROOTS = ("course_utils", *(path.name for path in files.PACKAGES))
HOMES = [Path(import_module(name).__file__).parent for name in ROOTS]
GRAPH = grimp.build_graph(*ROOTS, exclude_type_checking_imports=True, cache_dir=None)
PACKAGES = [*ROOTS] + [
    found.name
    for name, home in zip(ROOTS, HOMES, strict=True)
    for found in pkgutil.walk_packages([str(home)], f"{name}.")
    if found.ispkg and ".tests" not in found.name
]
WHERE = """
Where a line belongs (CONTRIBUTING.md): what one chapter uses, in chapters/<that chapter>; what a
chapter before it needs too, in workloads, memory, planner or traces; what every page needs, in core
(numbers), figures (pictures) or lesson (the reader); what a terminal runs, in cli; what strangers
use without the course, in packages/."""


def test_each_folder_imports_only_those_that_pyproject_puts_below_it():
    config = str(files.ROOT / "pyproject.toml")
    assert lint_imports(config_filename=config, no_cache=True, no_logo=True) == 0, WHERE


def test_a_chapter_imports_only_chapters_that_it_is_built_on():
    rooms = {one.number: f"course_utils.chapters.{one.stem[3:]}" for one in catalog.chapters()}
    built_on: dict[str, set[str]] = {}
    for chapter in catalog.chapters():  # those that it is built on come before it
        own = rooms[chapter.number]
        built_on[own] = {own}.union(*(built_on[rooms[number]] for number in chapter.after))
        if own in GRAPH.modules:
            imported = GRAPH.find_upstream_modules(own, as_package=True)
            others = {".".join(one.split(".")[:3]) for one in imported} & {*rooms.values()}
            others -= built_on[own]
            assert not others, f"{own} imports {others}; data/course.json: `after`{WHERE}"


def test_inside_the_library_a_module_is_imported_by_its_full_path():
    through_doors = [
        f"{one['importer']}:{one['line_number']}: {one['line_contents']}"
        for module in sorted(GRAPH.modules - {*PACKAGES})
        for door in GRAPH.find_modules_directly_imported_by(module) & {*PACKAGES}
        for one in GRAPH.get_import_details(importer=module, imported=door)
        if one["line_contents"].startswith(f"from {door} import")
    ]
    assert through_doors == []


def test_nobody_uses_another_folders_private_names():
    found = [
        line
        for home in HOMES
        for path in home.rglob("*.py")
        if "tests" not in path.parts
        for line in private_names_from_elsewhere(path)
    ]
    assert found == [], "Give it a public name, or ask for what you need."


def test_a_docstring_begins_with_what_a_function_returns_or_does():
    riddles = [
        f"{path.relative_to(files.ROOT)}:{node.lineno}: {said.splitlines()[0]}"
        for home in HOMES
        for path in home.rglob("*.py")
        if "tests" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (said := ast.get_docstring(node))
        if re.match("(What|Who|Whose|Of|How much|How many) ", said)
    ]
    assert riddles == [], "Returns …, Runs …, or a noun: Bytes of …, The lines that …"


def private_names_from_elsewhere(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported, taken = set(), []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module.startswith(ROOTS):
            root = HOMES[ROOTS.index(node.module.partition(".")[0])].parent
            target = root / node.module.replace(".", "/")
            if path.parent != (target if target.is_dir() else target.parent):
                imported |= {alias.asname or alias.name for alias in node.names}
                taken += [alias.name for alias in node.names]
    uses = [node for node in nodes if isinstance(node, ast.Attribute)]
    taken += [one.attr for one in uses if ast.unparse(one.value) in imported]
    where = path.relative_to(files.ROOT)
    return [f"{where}: {name}" for name in taken if re.match("_[^_]", name)]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_door_offers_what_is_behind_it_and_hides_no_module(package):
    door = import_module(package)
    rooms = getattr(door, "MODULE_OF", {})
    hidden = [name for name in rooms if f"{package}.{name}" in GRAPH.modules]
    assert hidden == [], "a module of that name is there: whichever is imported first would win"
    assert [name for name in rooms if not hasattr(door, name)] == []
    assert set(rooms) <= set(dir(door))
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = door.nothing_of_that_name


def test_a_page_comes_in_by_the_doors():
    pages = [*files.chapters(), files.INDEX, *files.SOLUTIONS.glob("*.ipynb")]
    for path in pages:
        sources = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
        used = re.findall(rf"^from ((?:{'|'.join(ROOTS)})[\w.]*) import", "\n".join(sources), re.M)
        assert set(used) <= {*PACKAGES}, (
            f"{path.name}: add the name to its module in the folder's __init__, import it there"
        )
