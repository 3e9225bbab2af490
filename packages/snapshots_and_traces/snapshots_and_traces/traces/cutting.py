"""Some steps of a trace: what was called in them, and what those calls launched."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from snapshots_and_traces.traces.trace import BLOCKING, Kind, Trace


def cut(trace: Trace, steps: Collection[str]) -> Trace:
    """The events of the steps named, as `trace.steps` calls them, and whatever is between these.

    On the host, what began from the first step's begin to the last one's end. On a GPU, what those
    calls launched, whenever it ran: what ran meanwhile and was launched before isn't the steps'.
    Left out is what no measure looks at: runtime calls that neither launch anything nor wait for a
    device, and events of kind OTHER. Times still count from the trace's first event.
    Raises: ValueError for a step that the trace lacks.
    """
    if not steps or not set(steps) <= set(trace.steps):
        raise ValueError(f"name steps of the trace; it has {', '.join(trace.steps) or 'none'}")
    windows = [trace.steps[step] for step in steps]
    begin, end = min(begin for begin, _ in windows), max(end for _, end in windows)
    called = (trace.device < 0) & (trace.start >= begin) & (trace.start < end)
    launched = (trace.launch >= 0) & called[trace.launch]
    launching = np.zeros(len(called), bool)
    launching[trace.launch[launched]] = True
    idle_calls = (trace.kind == Kind.RUNTIME) & ~launching & ~trace.named(BLOCKING)
    return only(trace, launched | (called & ~idle_calls & (trace.kind != Kind.OTHER)))


def only(trace: Trace, which: np.ndarray) -> Trace:
    """The trace of these events alone; the calls that launched them must be among them."""
    place = np.append(np.cumsum(which) - 1, -1)
    return replace(
        trace,
        **{
            column: getattr(trace, column)[which]
            for column in ("name", "kind", "thread", "start", "seconds", "device", "numbers")
        },
        launch=place[trace.launch[which]],
        allocated={},
    )
