"""The tests of stored pages, asked again and again: each time in a fork of a process that has
already imported what they import.

Run in a copy of the course. It reads a chapter's name a line from its input, and answers with a
line: the tests that failed, as JSON.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

NOT_THOSE = ("test_answers.py",)  # it runs the exercises' checks, and reads no page
STRUCTURE = "test_structure.py"  # all of it: some of its tests are of the front pages
OWN = ("tests", "conftest", "_pytest", "pytest", "__")


class Failed:
    """A plugin of pytest that runs what is about one chapter, and keeps the names of what failed.

    Tests of the checks themselves, which read no page or all of them, are left out.
    """

    def __init__(self, chapter: str) -> None:
        self.chapter = chapter
        self.names: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.is_about_it(item)]

    def is_about_it(self, item: pytest.Item) -> bool:
        callspec = getattr(item, "callspec", None)
        values = callspec.params.values() if callspec else ()
        names = {getattr(value, "stem", value) for value in values if isinstance(value, str | Path)}
        return bool(names & {self.chapter, self.chapter[:2]}) or item.path.name == STRUCTURE

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.names.append(report.nodeid)


def main() -> None:
    files = sorted(Path("tests/pages").glob("test_*.py"))
    chosen = [str(path) for path in files if path.name not in NOT_THOSE]
    for line in sys.stdin:
        failed, imported = in_a_fork(chosen, line.strip())
        print(json.dumps(failed), flush=True)
        for name in imported:
            if name not in sys.modules and not name.startswith(OWN):
                _import(name)


def in_a_fork(files: list[str], chapter: str) -> tuple[list[str], list[str]]:
    """What failed, and the modules that the tests imported."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _test(files, chapter, writes)
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    if not told:
        return [f"{chapter}: the tests died"], []
    failed, imported = json.loads(told)
    return failed, imported


def _test(files: list[str], chapter: str, answer: int) -> None:
    """In the fork: runs the tests of one chapter, silently, answers, and ends the process."""
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        plugin = Failed(chapter)
        code = pytest.main(
            ["-q", "--tb=no", "-p", "no:cacheprovider", "--only-chapters", chapter, *files],
            [plugin],
        )
        if code not in (0, 1) and not plugin.names:
            plugin.names.append(f"pytest ended with {int(code)}")
        with os.fdopen(answer, "w", encoding="utf-8") as pipe:
            json.dump([plugin.names, sorted(sys.modules)], pipe)
    finally:
        os._exit(0)


def _import(name: str) -> None:
    try:
        import_module(name)
    except Exception:  # some modules are made by others, not imported
        return


if __name__ == "__main__":
    main()
