"""The exercise "diagnose" (what slows a run, by its trace alone): its tools and its judge."""

import random
from collections.abc import Callable
from copy import deepcopy
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
CAUSES = {  # each with its parts of the library's breakdown, and what it means, in words
    "input-bound": (("data",), "the device waits for a DataLoader"),
    "sync-bound": (("synchronising", "allocating"), "a wait for the device had made the host late"),
    "host-bound": (("launching", "python", "loading"), "the host was late by itself"),
    "communication-bound": (("communication",), "only messages run"),
    HEALTHY: (("computing",), "the device computes"),
}


def made_run(name: str) -> Trace:
    """Returns the trace of one of the course's own runs; `about` says what it was, and the cause.

    Raises: EvidenceError for another name, with a list of them.
    """
    if name not in run_names():
        known = ", ".join(run_names())
        raise EvidenceError(f"No run is called {name!r}. There are: {known}")
    return _read(name)


def run_names(shown: bool | None = None) -> list[str]:
    """Returns the names of all runs, or of those that are (or aren't) shown to the reader."""
    names = sorted(path.stem for path in (files.DATA / FOLDER).glob("*.json"))
    return [name for name in names if shown in (None, _read(name).about["shown"])]


@cache
def _read(name: str) -> Trace:
    return stored_trace(f"{FOLDER}/{name}.json")


def shares(trace: Trace) -> dict[str, float]:
    """Returns the breakdown of a trace's first device, as shares of its window."""
    device = trace.devices[0]
    begin, end = trace.window(device)
    parts = breakdown(trace, device, (begin, end))
    return {what: seconds / (end - begin) for what, seconds in parts.items()}


Spans = list[tuple[float, float]]
ON_GPUS = {"ddp_resnet50": "host-bound", "resnet_v100": HEALTHY, "dlrm": "communication-bound"}
MOST_CUT = 0.15  # how much of a run's end may be cut off


@dataclass(frozen=True)
class Lanes:
    """When device and host did what: lists of (begin, end) in seconds, in order, without overlaps.

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
        """Seconds from the begin of the first kernel or copy to the end of the last."""
        return self.busy[-1][1] - self.busy[0][0]


def lanes(trace: Trace) -> Lanes:
    """Returns the lanes of a trace's host and of its first device."""
    kernels = trace.on(trace.devices[0], Kind.KERNEL)
    copies = trace.on(trace.devices[0], Kind.COPY)
    found = (kernels | copies, kernels & ~trace.messages, kernels & trace.messages)
    moments = [*map(trace.moments, found), loads(trace), waits(trace)]
    return Lanes(*([(begin, end) for begin, end in one.tolist()] for one in moments))


def seconds_in(spans: Spans, begin: float, end: float) -> float:
    """Returns how many of the seconds between two moments lie in the spans."""
    return intervals.length(intervals.within(np.reshape(spans, (-1, 2)), begin, end))


def judge(diagnose: Callable[[Trace], Any]) -> str:
    """Tries an answer on the runs shown, on the same in disguise, and on others, three of GPUs."""
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
    return (
        f"{len(run_names(shown=True))} runs shown and {len(hidden)} others, three of them on GPUs"
    )


def _judge(diagnose: Callable[[Trace], Any], name: str, trace: Trace, cause: str) -> None:
    said = _answer(diagnose, trace)
    if said == cause:
        return
    parts, words = CAUSES[cause]
    share = sum(took for part, took in shares(trace).items() if part in parts)
    raise Wrong(f"on `{name}`, where {share:.0%} of the time {words}, you said {said}", _panel)


def _answer(diagnose: Callable[[Trace], Any], trace: Trace) -> str:
    """The answer for a disguised trace. Raises: Wrong where it isn't a cause."""
    said = diagnose(replace(deepcopy(trace), about={}, gpus=[], rank=None))
    if not isinstance(said, str) or said not in CAUSES:
        raise Wrong(f"you return {shown(said)}, want one of {', '.join(CAUSES)}")
    return str(said)


def disguised(trace: Trace) -> tuple[Trace, float]:
    """Returns the same run made slower, and by what factor.

    It also begins later, a part of its end is cut off, and names that don't tell its cause have
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
