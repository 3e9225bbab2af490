"""Which tests of every chapter run, and in which order: for tests and notebooks alike.

`--only-chapters 06_floating_point_formats,07_mixed_precision`: of the tests that go through every
chapter, only those of the named ones. What times something comes last: it runs one at a time
(COURSE_QUIET_LOCK), and what comes before it keeps every worker busy. What nbval compares passes
through tools/undecided.py.
"""

from functools import cache
from pathlib import Path

pytest_plugins = ["tools.undecided"]


def pytest_addoption(parser):
    parser.addoption("--only-chapters", default="", help="stems of chapters, with commas between")


def pytest_collection_modifyitems(config, items):
    wanted = set(filter(None, config.getoption("only_chapters").split(",")))
    others = [item for item in items if wanted and chapters_of(item) - wanted]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    items.sort(key=times)


def chapters_of(item):
    """The chapter that a parametrized test is about; nothing where it is about all or none."""
    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        if isinstance(value, Path) and value.suffix == ".ipynb":
            return {value.stem}
        name = getattr(value, "name", value)
        if isinstance(name, str) and name in chapter_of_exercise():
            return {chapter_of_exercise()[name]}
    return set()


@cache
def chapter_of_exercise():
    from course_utils.lesson.exercises import all_exercises

    return {one.name: Path(one.solution).stem for one in all_exercises()}


def times(item):
    """Whether the item's notebook times something, or its module is marked `timed`."""
    if item.path.suffix == ".ipynb":
        return notebook_times(item.path)
    return item.get_closest_marker("timed") is not None


@cache
def notebook_times(path):
    text = path.read_text(encoding="utf-8")
    return "start(" in text and "times=False" not in text
