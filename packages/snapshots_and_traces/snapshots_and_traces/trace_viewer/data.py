"""A trace as its page has it: words, and columns of numbers, in whole nanoseconds.

The events are in order of lane, row and time. A browser's numbers are exact up to 52 days.
"""

from typing import Any

import numpy as np

from snapshots_and_traces.offline.columns import Columns
from snapshots_and_traces.trace_viewer.kinds import KINDS, PARTS, kinds
from snapshots_and_traces.trace_viewer.lanes import Lane, lanes
from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.critical_path import CATEGORIES, Path, critical_path
from snapshots_and_traces.traces.idle import WAITS, Idle, idle_times
from snapshots_and_traces.traces.report import (
    ON_HOST,
    WORDS,
    Overview,
    about,
    overview,
    printable,
    ran_in_words,
)
from snapshots_and_traces.traces.trace import LOADER, Kind, Trace
from snapshots_and_traces.units import seconds_text

MOST_PLACES, MOST_TOPS, MOST_STEPS = 50, 12, 200
PATH = {"starting": "#B4E0D0", "allocating": "#D55E00", "waiting": "#BBBBBB"} | PARTS


def content(trace: Trace) -> tuple[dict[str, Any], bytes]:
    """The words of a page and its columns. Raises: TraceError where there is nothing to show."""
    seen = [overview(trace, gpu) for gpu in _busiest_first(trace)]
    columns, found = Columns(), lanes(trace)
    order = np.concatenate([row for lane in found for row in lane.rows])
    place = np.full(len(trace.start), -1)
    place[order] = np.arange(len(order))
    words = {
        "end": int(_nanoseconds(trace.end.max())),
        "about": about(trace),
        "names": [printable(name) for name in trace.names],
        "kinds": [[kind, *told] for kind, told in KINDS.items()],
        "waits": [[WORDS[wait], PARTS[wait]] for wait in WAITS],
        "lanes": [lane.in_words() for lane in found],
        "events": _events(trace, found, order, place, columns),
        "devices": [_device(trace, one, found, place, columns) for one in seen],
        "steps": _steps(trace),
    }
    return words, columns.together()


def _busiest_first(trace: Trace) -> list[int]:
    """The GPUs; the host where there is none."""
    first = measures.busiest(trace)
    return [first, *(gpu for gpu in trace.devices if gpu != first)]


def _events(
    trace: Trace, found: list[Lane], order: np.ndarray, place: np.ndarray, columns: Columns
) -> dict[str, list[int]]:  # fmt: skip
    """Columns of the events. `passed` is from the begin of the one before in its row; `launch` and
    `numbers` are one more than they are, so that 0 says none.
    """
    start, end = _nanoseconds(trace.start)[order], _nanoseconds(trace.end)[order]
    firsts = np.cumsum([0, *(len(row) for lane in found for row in lane.rows)])[:-1]
    passed = np.diff(start, prepend=0)
    passed[firsts] = start[firsts]
    launch = np.where(trace.launch >= 0, place[trace.launch] + 1, 0)  # 0 too where it isn't shown
    column = {
        "passed": passed, "took": end - start, "name": trace.name[order],
        "kind": kinds(trace)[order], "launch": launch[order], "numbers": trace.numbers[order] + 1,
    }  # fmt: skip
    return {name: columns.add(values) for name, values in column.items()}


def _device(
    trace: Trace, seen: Overview, shown: list[Lane], place: np.ndarray, columns: Columns
) -> dict[str, Any]:
    whole = sum(seen.parts.values()) or 1.0
    is_gpu = seen.device >= 0
    idle = idle_times(trace, seen.device, seen.window) if is_gpu else _host_idle(trace)
    longest = _longest(trace, seen, idle, place)
    times, lengths = measures.launch_queue(trace, seen.device) if is_gpu else (np.empty(0),) * 2
    begins, ends = _nanoseconds(idle.spans[:, 0]), _nanoseconds(idle.spans[:, 1])
    return {
        "number": seen.device,
        "says": ran_in_words(trace, seen.device) if is_gpu else "",
        "look": seen.look,
        "parts": [
            [
                _word(what, seen.device),
                PARTS[what],
                int(_nanoseconds(took)),
                took / whole,
                longest[what],
            ]
            for what, took in seen.parts.items()
            if took > 1e-9
        ],
        "tops": [
            [printable(one.name), one.count, int(_nanoseconds(one.seconds))]
            for one in seen.tops[:MOST_TOPS]
        ],
        "gaps": {
            "begin": columns.add(begins),
            "took": columns.add(ends - begins),
            "why": columns.add(idle.why),
            "waited": columns.add(np.where(idle.waited >= 0, place[idle.waited] + 1, 0)),
            **{f"share{n}": columns.add(_nanoseconds(one)) for n, one in enumerate(idle.shares.T)},
            "endedBy": columns.add(np.where(idle.ended_by >= 0, place[idle.ended_by] + 1, 0)),
        },
        "queue": {
            "passed": columns.add(np.diff(_nanoseconds(times), prepend=0)),
            "length": columns.add(lengths),
        },
        "path": _path(trace, seen, shown, place, columns),
    }


def _word(part: str, device: int) -> str:
    return (WORDS if device >= 0 else WORDS | ON_HOST)[part]


def _path(
    trace: Trace, seen: Overview, shown: list[Lane], place: np.ndarray, columns: Columns
) -> dict[str, Any]:
    """The critical path: where it is in which lane, in order of time, and its parts, largest first.

    A part's longest are [2, an event or -1, begin, end].
    """
    path = critical_path(trace, seen.device, seen.window)
    lane_of = np.zeros(len(trace.threads), np.int64)
    for number, lane in enumerate(shown):
        lane_of[trace.thread[lane.rows[0][0]]] = number
    lane, begin, end = lane_of[path.thread], _nanoseconds(path.begin), _nanoseconds(path.end)
    first = np.flatnonzero(np.diff(lane, prepend=-1))
    last = np.append(first[1:], len(lane))[: len(first)] - 1
    parts: list[list[Any]] = [
        [CATEGORIES[name], PATH[name], int(_nanoseconds(took)), _longest_spans(path, number, place)]
        for number, (name, took) in enumerate(path.seconds().items())
    ]
    whole = sum(took for *_, took, _ in parts) or 1
    guessed = f" {path.guessed:,} dependencies between streams are guessed." if path.guessed else ""
    return {
        "says": f"What each moment of {seconds_text(whole / 1e9)} waited for, followed backwards "
        f"from the end: to shorten anything else saves no time.{guessed}",
        "parts": [
            [words, colour, took, took / whole, longest]
            for words, colour, took, longest in sorted(parts, key=lambda one: -one[2])
            if took
        ],
        "spans": {
            "lane": columns.add(lane[first]),
            "begin": columns.add(begin[first]),
            "took": columns.add(end[last] - begin[first]),
        },
    }


def _longest_spans(path: Path, category: int, place: np.ndarray) -> list[list[int]]:
    found = _most(path.end - path.begin, path.category == category)
    event = np.where(path.event >= 0, place[path.event], -1)[found]
    begin, end = _nanoseconds(path.begin)[found], _nanoseconds(path.end)[found]
    return np.column_stack([np.full(len(found), 2), event, begin, end]).tolist()


def _host_idle(trace: Trace) -> Idle:
    """When the host ran no operator."""
    spans = measures.host_gaps(trace)
    shares = np.zeros((len(spans), len(WAITS)))
    shares[:, WAITS.index("python")] = spans[:, 1] - spans[:, 0]
    nothing = np.full(len(spans), -1)
    return Idle(spans, shares, nothing, nothing, {}, {}, -1)


def _longest(
    trace: Trace, seen: Overview, idle: Idle, place: np.ndarray
) -> dict[str, list[list[int]]]:
    """For each part, where its longest are: [0, an idle time] or [1, an event], longest first."""
    kernels = trace.on(seen.device, Kind.KERNEL)
    events = {
        "computing": kernels & ~trace.messages,
        "communication": kernels & trace.messages,
        "copying": trace.on(seen.device, Kind.COPY),
        "operators": trace.kind == Kind.OPERATOR,
    }
    if seen.device < 0:
        events["data"] = trace.named(LOADER)
    found = {}
    for what, took in zip(WAITS, idle.shares.T, strict=True):
        found[what] = [[0, int(i)] for i in _most(took, took > 0)]
    for what, which in events.items():
        shown = which & (place >= 0)
        found[what] = [[1, int(place[i])] for i in _most(trace.seconds, shown)]
    return found


def _most(seconds: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The places of those that took longest, at most MOST_PLACES."""
    places = np.flatnonzero(which)
    return places[np.argsort(-seconds[places], kind="stable")[:MOST_PLACES]]


def _steps(trace: Trace) -> list[list[Any]]:
    """Name, begin and end of each step."""
    steps = list(trace.steps.items())[:MOST_STEPS]
    return [[printable(name), *_nanoseconds(window).tolist()] for name, window in steps]


def _nanoseconds(seconds: Any) -> np.ndarray:
    return np.rint(np.asarray(seconds) * 1e9).astype(np.int64)
