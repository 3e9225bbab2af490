"""The runs of the exercise "diagnose": what the course's own programs did on a queue of threads.

Nothing is simulated: PyTorch's operators were launched by one thread and run by another, as a
GPU's are, and torch.profiler saw both. The device is that second thread of a CPU; messages are
gloo's, sent by a third. tools/diagnosed_runs made them, which is in the history at commit 814b106.
How much a cure would gain these runs don't tell: host and device share Python's lock, which a GPU
knows nothing of.
"""

from functools import cache

from course_utils.core import files
from course_utils.core.evidence import EvidenceError
from course_utils.traces.stored import stored_trace
from snapshots_and_traces.traces.idle import breakdown
from snapshots_and_traces.traces.trace import Trace

FOLDER = "traces"
PARTS = {  # by cause, which part of a breakdown is large
    "input-bound": "data",
    "sync-bound": "synchronising",
    "launch-bound": "launching",
    "communication-bound": "communication",
}
HEALTHY = "healthy"
CAUSES = (*PARTS, HEALTHY)
LEAST, MOST = 0.4, 0.25  # the share of a run's cause, and of any other
MOST_OTHER = 0.15  # idle for another reason: the two threads wait for each other's Python
MOST_HEALTHY = 0.1  # of all of these together where nothing is wrong


def made_run(name: str) -> Trace:
    """The trace of one of the course's own runs; its `about` says what it was, and the cause.

    Raises: EvidenceError, with the names there are, for others.
    """
    if name not in run_names():
        known = ", ".join(run_names())
        raise EvidenceError(f"No run is called {name!r}. There are: {known}")
    return _read(name)


def run_names(shown: bool | None = None) -> list[str]:
    """The names of all runs; of those shown to the reader, or of the others."""
    names = sorted(path.stem for path in (files.DATA / FOLDER).glob("*.json"))
    return [name for name in names if shown in (None, _read(name).about["shown"])]


@cache
def _read(name: str) -> Trace:
    return stored_trace(f"{FOLDER}/{name}.json")


def shares(trace: Trace) -> dict[str, float]:
    """The breakdown of a trace's first device as shares of the time between its kernels."""
    device = trace.devices[0]
    begin, end = trace.window(device)
    parts = breakdown(trace, device, (begin, end))
    return {what: seconds / (end - begin) for what, seconds in parts.items()}


def is_clear(trace: Trace, cause: str) -> bool:
    """Whether a trace shows this cause and no other: by LEAST, MOST, MOST_OTHER, MOST_HEALTHY."""
    found = shares(trace)
    lost = {one: found[part] for one, part in PARTS.items()}
    if cause == HEALTHY:
        return sum(lost.values()) + found["other"] <= MOST_HEALTHY
    most = lost.pop(cause)
    return most >= LEAST and max(lost.values()) <= MOST and found["other"] <= MOST_OTHER
