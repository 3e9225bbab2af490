"""`python -m course_utils trace FILE`: where the time of anybody's profiler trace went."""

import sys
from pathlib import Path

from course_utils.cli import opening
from course_utils.traces.json_events import TraceError
from course_utils.traces.page.page import trace_page
from course_utils.traces.reading import read_trace
from course_utils.traces.report import summary


def show(file: Path, by_step: bool = False) -> int:
    """Prints what a trace says, within a screen. Returns the exit status.

    What is wrong with the file is one line on stderr.
    """
    try:
        print(f"{file.name}: {_told(file, by_step)}")
    except TraceError as problem:
        print(problem, file=sys.stderr)
    except OSError as problem:
        print(f"{problem.filename or file}: {problem.strerror or problem}.", file=sys.stderr)
    else:
        return 0
    return 1


def show_page(file: Path, out: Path | None = None, in_browser: bool = True) -> int:
    """Writes the page of a trace and opens it; prints where it is. Returns the exit status.

    What is wrong with the file is one line on stderr.
    """
    return opening.show(file, trace_page, out, "traces", in_browser)


def _told(file: Path, by_step: bool) -> str:
    trace = read_trace(file)
    try:
        return summary(trace, by_step)
    except TraceError as problem:
        raise TraceError(f"{file.name}: {problem}") from None
