"""A profiler's trace as one HTML file that needs no network, and as an object of a notebook."""

from os import PathLike
from pathlib import Path

from course_utils.core.measurement import format_seconds
from course_utils.figures.offline.columns import packed
from course_utils.figures.offline.page import OfflinePage
from course_utils.traces.json_events import TraceError
from course_utils.traces.page.data import content
from course_utils.traces.page.still import draw_still
from course_utils.traces.reading import read_trace
from course_utils.traces.report import printable
from course_utils.traces.trace import Trace


class TracePage(OfflinePage):
    """The page of a trace: shows itself in a notebook; `save(path)` writes it as one file.

    A notebook stores a still picture of it, and its words.
    """

    what = "profiler trace"
    folder = Path(__file__).parent
    scripts = "data.js", "draw.js", "panels.js", "page.js"

    def __init__(self, trace: Trace, name: str, *, exact: bool = False) -> None:
        self.trace, self.exact = trace, exact
        self.words, columns = content(trace)
        super().__init__(printable(name), packed(self.words, columns))

    def __repr__(self) -> str:
        return f"[trace] {self.name}: {' '.join(self.sentences)}"

    @property
    def sentences(self) -> list[str]:
        """What it is, and where to look first: what stands above the page, and beside it."""
        first = self.words["devices"][0]
        return [
            *filter(None, [*self.words["about"], first["says"]]),
            f"Look first at {first['look']}.",
        ]

    def stored(self) -> dict[str, str]:
        """A picture and its words, which of a trace made anew say no more than stays."""
        took = format_seconds(float(self.trace.end.max()))
        said = f"a trace of ≈ {len(self.trace.start):,} events in {took}"
        alt = f"{self.name}: {' '.join(self.sentences) if self.exact else said}"
        picture = draw_still(self.trace, self.name, alt, exact=self.exact)
        return picture.bundle(f"[widget] {alt}")


def trace_page(
    trace: "str | PathLike[str] | Trace", name: str = "trace", *, exact: bool = False
) -> TracePage:
    """The page of a trace: its file, or the trace read, which `name` names then.

    `exact` traces were published, so that a notebook keeps all their words; of others, which the
    next run makes anew, it keeps what doesn't change.
    Raises: TraceError, a ValueError with one sentence, for a file that is no trace or a trace with
    neither kernels nor operators; OSError where there is no file to read.
    """
    if isinstance(trace, Trace):
        return TracePage(trace, name, exact=exact)
    path = Path(trace)
    found = read_trace(path)
    try:
        return TracePage(found, path.name, exact=exact)
    except TraceError as problem:
        raise TraceError(f"{path.name}: {problem}") from None
