"""A profiler's trace as one HTML file that needs no network, and as an object of a notebook."""

from os import PathLike
from pathlib import Path

from course_utils.figures.offline.columns import packed
from course_utils.figures.offline.page import OfflinePage
from course_utils.traces.json_events import TraceError
from course_utils.traces.page.data import content
from course_utils.traces.reading import read_trace
from course_utils.traces.report import printable
from course_utils.traces.trace import Trace


class TracePage(OfflinePage):
    """The page of a trace: shows itself in a notebook; `save(path)` writes it as one file."""

    what = "profiler trace"
    folder = Path(__file__).parent
    scripts = "data.js", "draw.js", "panels.js", "page.js"

    def __init__(self, trace: Trace, name: str) -> None:
        self.words, columns = content(trace)
        super().__init__(printable(name), packed(self.words, columns))

    def __repr__(self) -> str:
        return f"[trace] {self.name}: {self.words['about'][0]}"


def trace_page(trace: "str | PathLike[str] | Trace", name: str = "trace") -> TracePage:
    """The page of a trace: its file, or the trace read, which `name` names then.

    Raises: TraceError, a ValueError with one sentence, for a file that is no trace or a trace with
    neither kernels nor operators; OSError where there is no file to read.
    """
    if isinstance(trace, Trace):
        return TracePage(trace, name)
    path = Path(trace)
    try:
        return TracePage(read_trace(path), path.name)
    except TraceError as problem:
        said = str(problem)
        named = path.name in said
        raise TraceError(said if named else f"{path.name}: {said}") from None
