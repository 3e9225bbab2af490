"""Which tests run, in which order and in which environment, for tests and notebooks alike.

- `--only-chapters 06_floating_point_formats,07_mixed_precision`: of the tests that go through every
  chapter, only those of the named ones.
- `--quick`, with `--changed LIST`: leaves out what is marked `thorough`, unless it guards one of
  the files that are lines of the file LIST, or is in one. A mark without a path guards the chapter
  that its test is about.
- Pages run on one worker, one after the other, beside the library's tests on the others: two
  pages at once would disturb each other's timings. What takes long begins first.
- Pages get all threads, and the journal that the report reads.

What nbval compares passes through tools/undecided.py.
"""

import os
from functools import cache
from pathlib import Path

import pytest
from nbval.plugin import IPyNbCell

from tools.affected import MOST_CHAPTERS, chapters_in

pytest_plugins = ["tools.undecided"]
FIRST = (
    "tests/pages/rehearsal",
    "tests/pages/conditions",
    "tests/install",
    "tests/tools",
    "packages/notebook_ranks",
)
DIVIDED = ("tests/pages/", "tests/chapters/")  # each test function may go to another worker
PAGE_ONLY = "COURSE_PAGES_"  # COURSE_PAGES_X is X, but for pages alone


def pytest_addoption(parser):
    parser.addoption("--only-chapters", default="", help="stems of chapters, with commas between")
    parser.addoption("--quick", action="store_true", help="without tests that are `thorough`")
    parser.addoption("--changed", default="", help="a list of files: what guards them runs as well")


def pytest_collection_modifyitems(config, items):
    wanted = set(filter(None, config.getoption("only_chapters").split(",")))
    listed = config.getoption("changed")
    changed = Path(listed).read_text(encoding="utf-8").split("\n") if listed else []
    quick = config.getoption("quick")
    others = [
        item
        for item in items
        if (wanted and chapters_of(item) - wanted) or (quick and is_left_out(item, changed))
    ]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    items.sort(key=place)


def is_left_out(item, changed):
    """Whether every mark `thorough` of the item guards nothing that changed.

    A page of solutions counts as marked: tests/pages/test_answers.py grades each solution anyway.
    """
    guards = [mark.args for mark in item.iter_markers("thorough")]
    guards += [()] * item.nodeid.startswith("notebooks/solutions/")
    if not guards or item.nodeid.partition("::")[0] in changed:
        return False
    chapters = chapters_in(changed)[:MOST_CHAPTERS]
    return not any(
        any(path.startswith(guarded) for guarded in one for path in changed)
        or (not one and chapters_of(item) & set(chapters))
        for one in guards
    )


def chapters_of(item):
    """The chapter that a parametrized test is about; nothing where it is about all or none."""
    if item.path.suffix == ".ipynb":
        return {item.path.stem}
    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        if isinstance(value, Path) and value.suffix == ".ipynb":
            return {value.stem}
        name = getattr(value, "name", value)
        if isinstance(name, str) and name in chapter_of_exercise():
            return {chapter_of_exercise()[name]}
        if isinstance(name, str) and name in chapter_of_exercise().values():
            return {name}
    return set()


@cache
def chapter_of_exercise():
    from course_utils.lesson.exercises import all_exercises

    return {one.name: Path(one.solution).stem for one in all_exercises()}


def place(item):
    """Pages first, the largest before the others; then what takes long; then the rest."""
    where = item.nodeid.partition("::")[0]
    if where.endswith(".ipynb"):
        return -1, -item.path.stat().st_size
    return next((i for i, path in enumerate(FIRST) if where.startswith(path)), len(FIRST)), 0


def pytest_xdist_make_scheduler(config, log):
    """loadscope, in the order of collection, with pages kept to one worker."""
    from xdist.scheduler import LoadScopeScheduling

    class PagesOnOneWorker(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            if nodeid.startswith("tests/pages/rehearsal"):
                return nodeid
            if nodeid.startswith(DIVIDED):
                return nodeid.partition("[")[0]
            return super()._split_scope(nodeid)

        def _next(self, node):
            """The scope that this worker takes now: pages for the first, if there are any left."""
            first = next((one for one in self.nodes if not one.shutting_down), None)
            pages = [scope for scope in self.workqueue if is_page(scope)]
            others = (scope for scope in self.workqueue if not is_page(scope))
            return pages[0] if pages and node is first else next(others, None)

        def _assign_work_unit(self, node):
            scope = self._next(node)
            if scope is None:  # the rest is pages
                node.shutdown()
                return
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return PagesOnOneWorker(config, log)


def is_page(scope):
    return scope.startswith("notebooks/") or "conditions/test_conditions" in scope


@pytest.hookimpl(tryfirst=True)  # before nbval starts the page's kernel
def pytest_runtest_setup(item):
    is_cell = isinstance(item, IPyNbCell)
    for name, value in THREADS.items():
        os.environ.pop(name, None) if is_cell else os.environ.__setitem__(name, value)
    for name in [name for name in os.environ if name.startswith(PAGE_ONLY)]:
        own = name.removeprefix(PAGE_ONLY)
        os.environ.__setitem__(own, os.environ[name]) if is_cell else os.environ.pop(own, None)


THREADS = {k: os.environ[k] for k in ("OMP_NUM_THREADS",) if k in os.environ}
