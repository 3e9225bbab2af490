"""A pytest plugin: of the tests that go through every chapter, only those of the named ones.

`-p tests.support.only_chapters --only-chapters 06_floating_point_formats,07_mixed_precision`
"""

from pathlib import Path

from course_utils.lesson import exercises


def pytest_addoption(parser):
    parser.addoption("--only-chapters", default="", help="stems of chapters, with commas between")


def pytest_collection_modifyitems(config, items):
    wanted = set(filter(None, config.getoption("only_chapters").split(",")))
    others = [item for item in items if wanted and chapters_of(item) - wanted]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def chapters_of(item):
    """The chapter that a parametrized test is about; nothing where it is about all or none."""
    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        if isinstance(value, exercises.Exercise):
            return {Path(value.solution).stem}
        if isinstance(value, Path) and value.suffix == ".ipynb":
            return {value.stem}
        if isinstance(value, str) and value in known_exercises():
            return {Path(exercises.find(value).solution).stem}
    return set()


def known_exercises():
    return {one.name for one in exercises.all_exercises()}
