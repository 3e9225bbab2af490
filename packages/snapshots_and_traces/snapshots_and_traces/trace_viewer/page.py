"""A profiler's trace as one HTML file that needs no network, and as an object of a notebook."""

from os import PathLike
from pathlib import Path

from snapshots_and_traces.offline.columns import packed
from snapshots_and_traces.offline.page import OfflinePage
from snapshots_and_traces.trace_viewer.data import content
from snapshots_and_traces.traces.reading import TraceError, read_trace
from snapshots_and_traces.traces.report import printable
from snapshots_and_traces.traces.trace import Trace


class TracePage(OfflinePage):
    """The page of a trace: shows itself in a notebook; `save(path)` writes it as one file."""

    what = "profiler trace"
    finds = "find events by name"
    folder = Path(__file__).parent
    scripts = "data.js", "draw.js", "panels.js", "page.js"

    def __init__(self, trace: Trace, name: str) -> None:
        self.trace = trace
        self.words, columns = content(trace)
        super().__init__(printable(name), packed(self.words, columns))

    def __repr__(self) -> str:
        return f"[trace] {self.name}: {' '.join(self.sentences)}"

    @property
    def sentences(self) -> list[str]:
        """Describes the trace and where to look first: the text above the page, and beside it."""
        first = self.words["devices"][0]
        return [
            *filter(None, [*self.words["about"], first["says"]]),
            f"Look first at {first['look'][0]}.",
        ]


def trace_page(trace: "str | PathLike[str] | Trace", name: str = "trace") -> TracePage:
    """The page of a trace: its file, or the trace read, which `name` names then.

    Raises: TraceError, a ValueError with one sentence, for a file that is no trace or a trace with
    neither kernels nor operators; OSError where there is no file to read.
    """
    if isinstance(trace, Trace):
        return TracePage(trace, name)
    path = Path(trace)
    found = read_trace(path)
    try:
        return TracePage(found, path.name)
    except TraceError as problem:
        raise TraceError(f"{path.name}: {problem}") from None
