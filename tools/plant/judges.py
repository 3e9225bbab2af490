"""Who is asked whether an error is seen: tests of the stored page, tests of a module, the page run.

What fails on the clean copy as well is nobody's catch.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from tools import report
from tools.plant.working_copy import Copy

LONGEST_SECONDS = 300  # a page, or the tests of a module
PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "-q")
SANITISED = ("--nbval", "--nbval-sanitize-with", "tests/sanitise.cfg")
STRICT = {"COURSE_STRICT": "1"}  # as `make test` runs pages
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # and the library's tests
RAISED = re.compile(r"^(?:E +)?([\w.]*(?:Error|Exception|Warning|Deadlock)\b: .*)", re.M)
TIMED_OUT = "it never ended"


class Judges:
    """The three judges of one copy. They answer with the names of what failed and is new.

    `said` has what the last failure of that name said, in a line.
    """

    def __init__(self, copy: Copy) -> None:
        self.copy = copy
        self.clean: dict[tuple[str, str], list[str]] = {}
        self.said: dict[str, str] = {}

    @cached_property
    def _static_judge(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tools.plant.static_judge"]
        own = self.copy.environment() | ONE_THREAD
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.copy.root, env=own, stdin=pipe, stdout=pipe, text=True
        )

    def close(self) -> None:
        if "_static_judge" in self.__dict__:
            assert self._static_judge.stdin
            self._static_judge.stdin.close()
            self._static_judge.wait()

    def static(self, chapter: str) -> list[str]:
        """The tests of stored pages that fail for this chapter."""
        judge = self._static_judge
        assert judge.stdin and judge.stdout
        print(chapter, file=judge.stdin, flush=True)
        failed: list[str] = json.loads(judge.stdout.readline())
        return self._new(failed, "static", chapter)

    def tests(self, paths: Iterable[str]) -> list[str]:
        """The first test of these files, one file after the other, that fails."""
        return next(filter(None, (self._pytest(["-x", path]) for path in paths)), [])

    def page(self, chapter: str, to_the_end: bool = True) -> list[str]:
        """The cells ("Cell 3") that fail or print something else when a page is run.

        With `to_the_end` False, it ends at the first that is new.
        """
        stop = [] if to_the_end else [f"--maxfail={1 + len(self.clean.get(('page', chapter), []))}"]
        found = self._pytest([*SANITISED, *stop, f"notebooks/{chapter}.ipynb"])
        return self._new(found, "page", chapter)

    def look_at_clean(self, what: str, chapter: str) -> list[str]:
        """What "static" or "page" finds on the clean copy; from now on it doesn't name that."""
        if (what, chapter) not in self.clean:
            judge = {"static": self.static, "page": self.page}[what]
            self.clean[what, chapter] = judge(chapter)
        return self.clean[what, chapter]

    def _new(self, failed: list[str], what: str, chapter: str) -> list[str]:
        return [name for name in failed if name not in self.clean.get((what, chapter), [])]

    def _pytest(self, arguments: list[str]) -> list[str]:
        junit = self.copy.root / "build" / "plant.xml"
        junit.parent.mkdir(exist_ok=True)
        junit.unlink(missing_ok=True)
        command = [sys.executable, *PYTEST, f"--junitxml={junit}", *arguments]
        is_page = arguments[-1].endswith(".ipynb")
        own = self.copy.environment() | (STRICT if is_page else ONE_THREAD)
        quiet = subprocess.DEVNULL
        try:
            done = subprocess.run(
                command, cwd=self.copy.root, env=own, stdout=quiet, stderr=quiet,
                timeout=LONGEST_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return [TIMED_OUT]
        cases = [case for case in report.read_junit(junit) if case.problem]
        self.said |= {_name(case): _in_a_line(case.problem or "") for case in cases}
        failed = [_name(case) for case in cases]
        return failed or ([f"pytest ended with {done.returncode}"] if done.returncode > 1 else [])


def _name(case: report.Case) -> str:
    """`Cell 3` of a page, else the test as pytest is given it."""
    if re.fullmatch(r"Cell \d+", case.name):
        return case.name
    return f"{Path(case.group.replace('.', '/'))}.py::{case.name}"


def _in_a_line(problem: str) -> str:
    """What a failing cell or test says: its error, or how its output differs."""
    text = report.COLOUR.sub("", problem)
    if "Cell outputs differ" in text:
        return "the stored output differs"
    raised = RAISED.findall(text)
    return raised[-1][:100] if raised else ""
