"""The exercise "diagnose": what slows a run, from its trace alone; its tools and its judge."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from course_utils.core import files
from course_utils.core.evidence import EvidenceError
from course_utils.figures.tables import table
from course_utils.lesson.answers import shown
from course_utils.lesson.exercises import Wrong
from course_utils.traces.stored import published_trace, stored_trace
from snapshots_and_traces.traces import intervals
from snapshots_and_traces.traces.cutting import only
from snapshots_and_traces.traces.idle import breakdown, loads, waits
from snapshots_and_traces.traces.trace import BLOCKING, LOADER, MESSAGE, PAGEABLE, STEP, Kind, Trace

# ---- The runs of the exercise "diagnose": what the course's own programs did on a queue of
# threads.

FOLDER = "traces"
HEALTHY = "healthy"
CAUSES = ("input-bound", "sync-bound", "launch-bound", "communication-bound", HEALTHY)


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


Spans = list[tuple[float, float]]
ON_GPUS = {"ddp_resnet50": "launch-bound", "resnet_v100": HEALTHY}  # by the published figures
MOST_CUT = 0.15  # how much of a run's end may be cut off
WORDS = {
    "computing": "the device computes",
    "communication": "only messages run",
    "copying": "only copies run",
    "data": "the device is idle under DataLoader's next",
    "synchronising": "it is idle after a call that waited for it",
    "launching": "it is idle, and was launched too late",
    "other": "it is idle for another reason",
}


@dataclass(frozen=True)
class Lanes:
    """Who did what when, as (begin, end) in seconds: each list in order, its spans apart.

    On the device: `computing` (kernels other than messages), `sending` (messages) and `busy` (any
    kernel or copy). On the host: `loading` (in a DataLoader's next) and `waiting` (in a call that
    returns when the device is done).
    """

    busy: Spans
    computing: Spans
    sending: Spans
    loading: Spans
    waiting: Spans

    @property
    def seconds(self) -> float:
        """From the begin of the first kernel or copy to the end of the last."""
        return self.busy[-1][1] - self.busy[0][0]


def lanes(trace: Trace) -> Lanes:
    """The lanes of a trace's host and of its first device."""
    kernels = trace.on(trace.devices[0], Kind.KERNEL)
    copies = trace.on(trace.devices[0], Kind.COPY)
    found = (kernels | copies, kernels & ~trace.messages, kernels & trace.messages)
    moments = [*map(trace.moments, found), loads(trace), waits(trace)]
    return Lanes(*([(begin, end) for begin, end in one.tolist()] for one in moments))


def seconds_in(spans: Spans, begin: float, end: float) -> float:
    """How many of the seconds between two moments lie in the spans."""
    return intervals.length(intervals.within(np.reshape(spans, (-1, 2)), begin, end))


def is_in(spans: Spans, moment: float) -> bool:
    """Whether a moment lies in one of the spans, their edges included."""
    return any(begin <= moment <= end for begin, end in spans)


def judge(diagnose: Callable[[Trace], Any]) -> str:
    """The runs that the page shows; the same in disguise; then others, on a queue and on GPUs."""
    for name in run_names(shown=True):
        _judge(diagnose, name, made_run(name), made_run(name).about["cause"])
    for name in run_names(shown=True):
        cause, (trace, times) = made_run(name).about["cause"], disguised(made_run(name))
        said = _answer(diagnose, trace)
        if said != cause:
            raise Wrong(
                f"`{name}`, when all takes {times:.2g} times as long, its operators have other "
                f"names and its end is cut off: you said {said}, and {cause} before",
                _panel,
            )
    hidden = [(made_run(name), made_run(name).about["cause"]) for name in run_names(shown=False)]
    hidden += [(published_trace(name), cause) for name, cause in ON_GPUS.items()]
    random.shuffle(hidden)
    for trace, cause in hidden:
        for one in (trace, disguised(trace)[0]):
            said = _answer(diagnose, one)
            if said != cause:
                busy = shares(trace)["computing"]
                raise Wrong(
                    f"on a run that the page doesn't show you said {said}, and that isn't it. Its "
                    f"device computes {busy:.0%} of the time. Your function is right of the runs "
                    "shown: does it ask what the host did in each gap?"
                )
    return f"{len(run_names(shown=True))} runs shown and {len(hidden)} others, two of them on GPUs"


def _judge(diagnose: Callable[[Trace], Any], name: str, trace: Trace, cause: str) -> None:
    said = _answer(diagnose, trace)
    if said == cause:
        return
    found = shares(trace)
    lost = {what: share for what, share in found.items() if what != "computing"}
    largest = "computing" if cause == HEALTHY else max(lost, key=lambda what: lost[what])
    raise Wrong(
        f"on `{name}`, where {found[largest]:.0%} of the time {WORDS[largest]}, you said {said}",
        _panel,
    )


def _answer(diagnose: Callable[[Trace], Any], trace: Trace) -> str:
    """What is said of a trace that doesn't tell what it is; Wrong where it is no cause."""
    said = diagnose(replace(_copied(trace), about={}, gpus=[], rank=None))
    if not isinstance(said, str) or said not in CAUSES:
        raise Wrong(f"you return {shown(said)}, want one of {', '.join(CAUSES)}")
    return str(said)


def _copied(trace: Trace) -> Trace:
    """The same with arrays and lists of its own, which a function may spoil."""
    same = only(trace, np.ones(len(trace.start), bool))
    return replace(same, names=list(trace.names), threads=list(trace.threads))


def disguised(trace: Trace) -> tuple[Trace, float]:
    """The same run where all takes longer, and how many times as long.

    It begins later, a part of its end is cut off, and the names that say nothing of its cause have
    changed places.
    """
    times, end = random.uniform(2, 4), 1 - random.uniform(0, MOST_CUT)
    begin, last = trace.window(trace.devices[0])
    kept = only(trace, trace.start <= begin + end * (last - begin))
    telling = (LOADER, BLOCKING, MESSAGE, PAGEABLE, STEP)
    fixed = [any(rule.search(name) for rule in telling) for name in trace.names]
    others = [name for name, stays in zip(trace.names, fixed, strict=True) if not stays]
    mixed = iter(random.sample(others, len(others)))
    names = [name if stays else next(mixed) for name, stays in zip(trace.names, fixed, strict=True)]
    start = times * kept.start + random.uniform(0, 10)
    return replace(kept, names=names, start=start, seconds=times * kept.seconds), times


def _panel() -> Any:
    """The breakdown of the runs that the page shows, in shares of their time."""
    rows = []
    for name in run_names(shown=True):
        found = shares(made_run(name))
        rows.append({"run": name} | {what: f"{share:.0%}" for what, share in found.items()})
    return table("What the devices of the runs shown did, or waited for", rows)
