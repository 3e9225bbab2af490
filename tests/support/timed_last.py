"""A pytest plugin: the notebooks and tests that time something come last.

They run one at a time (COURSE_QUIET_LOCK); what comes before them keeps every worker busy.
"""

from functools import cache


def pytest_collection_modifyitems(items):
    items.sort(key=times)


def times(item):
    """Whether the item's notebook times something, or its module is marked `timed`."""
    if item.path.suffix == ".ipynb":
        return notebook_times(item.path)
    return item.get_closest_marker("timed") is not None


@cache
def notebook_times(path):
    text = path.read_text()
    return "start(" in text and "times=False" not in text
