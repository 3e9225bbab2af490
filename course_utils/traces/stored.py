"""Traces kept as numbers: small JSON files of columns, some of others' under data/published/.

A file has what every published table has (`what`, `source`, `licence`), `machine` and `how` (the
command that made it), then `names` and `lanes`. A lane is what one thread or stream did of one
kind, in order of time, a list for each column: `name`, a place in `names`; `wait`, from the begin
of the event before (of the first: from the trace's begin), and `took`, both in units of time;
where it was launched, `launch`, the launching call's place among all events of all lanes, as
difference to the one before; and `numbers`, of messages alone: place in the lane, and how many.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from course_utils.core import files, running
from course_utils.core.evidence import EvidenceError, data
from snapshots_and_traces.traces.trace import Kind, Trace

PER_SECOND = 10_000_000  # units of time: 0.1 µs each
ABOUT = ("what", "source", "licence", "machine", "how")
PUBLISHED = "published/traces"


def published_trace(name: str) -> Trace:
    """Some steps that somebody traced on real GPUs: data/published/traces/<name>.json.

    `about` of the trace says what it is, whose, on which machine, and how it was cut.
    Raises: EvidenceError, with the names there are, for others.
    """
    known = sorted(path.stem for path in (files.DATA / PUBLISHED).glob("*.json"))
    if name not in known:
        raise EvidenceError(f"No published trace is called {name!r}. There are: {', '.join(known)}")
    found = stored_trace(f"{PUBLISHED}/{name}.json")
    running.note("published", name=name, source=found.about["source"])
    return found


def stored_trace(name: str) -> Trace:
    """The trace in a file that `store` wrote, by its path below data/.

    Events come lane by lane, not as the profiler's file had them.
    Raises: EvidenceError for a file that isn't whole, with how to get it back.
    """
    content = data(name)
    try:
        return _trace(content)
    except (KeyError, TypeError, ValueError, IndexError):
        raise EvidenceError(
            f"data/{name} isn't a stored trace. Get it back: git checkout data/{name}"
        ) from None


def store(trace: Trace, path: Path, about: Mapping[str, Any]) -> None:
    """Writes a trace as numbers; begins and ends are rounded to 0.1 µs, so what nests still does.

    `about` says what ABOUT names, and whatever else is known. Bytes allocated are left out.
    Raises: ValueError where `about` lacks something; OSError as `files.write_whole` does.
    """
    if lacking := [name for name in ABOUT if not about.get(name)]:
        raise ValueError(f"say {', '.join(lacking)} of the trace in `about`")
    used, code, counts = np.unique(trace.name, return_inverse=True, return_counts=True)
    often = np.argsort(-counts, kind="stable")
    content = {
        **about,
        "units_per_second": PER_SECOND,
        "rank": trace.rank,
        "gpus": trace.gpus,
        "names": [trace.names[used[i]] for i in often],
        "lanes": _lanes(trace, np.argsort(often)[code]),
    }
    files.write_whole(path, _text(content) + "\n")


def _lanes(trace: Trace, code: np.ndarray) -> list[dict[str, Any]]:
    """One for each kind, device and thread; `code` has each event's place in the stored names."""
    which = np.stack([trace.kind, trace.device, trace.thread])
    order = np.lexsort((-trace.end, trace.start, *which[::-1]))
    place = np.full(len(order), -1)
    place[order] = np.arange(len(order))
    start, end = (
        np.rint((at - trace.start.min()) * PER_SECOND).astype(int)
        for at in (trace.start, trace.end)
    )
    lanes = []
    edges = np.flatnonzero(np.diff(which[:, order]).any(axis=0)) + 1
    for rows in np.split(order, edges):
        kind, device, thread = which[:, rows[0]]
        lane = {"kind": Kind(kind).name.lower(), "device": device, "thread": trace.threads[thread]}
        lane |= {"name": code[rows], "wait": np.diff(start[rows], prepend=0)}
        lane |= {"took": (end - start)[rows]}
        if (trace.launch[rows] >= 0).any():
            calls = np.where(trace.launch[rows] >= 0, place[trace.launch[rows]], -1)
            lane["launch"] = np.diff(calls, prepend=0)
        told = np.flatnonzero(trace.numbers[rows] >= 0)
        lane["numbers"] = np.column_stack([told, trace.numbers[rows][told]])
        lanes.append(lane)
    return lanes


def _text(value: Any, depth: int = 0) -> str:
    """JSON, each entry of an object and each lane on a line of its own."""
    if isinstance(value, dict):
        entries = [f"{json.dumps(name)}: {_text(one, depth + 1)}" for name, one in value.items()]
        return f"{{{_lines(entries, depth)}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict | str):
        return f"[{_lines([_text(one, depth + 1) for one in value], depth)}]"
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def _lines(entries: list[str], depth: int) -> str:
    blank = "\n" + " " * depth
    return ",".join(f"{blank} {entry}" for entry in entries) + blank


def _trace(content: dict[str, Any]) -> Trace:
    lanes, second = content["lanes"], content["units_per_second"]
    threads = list(dict.fromkeys((str(a), str(b)) for a, b in (lane["thread"] for lane in lanes)))
    columns = np.concatenate([_columns(lane, threads) for lane in lanes], axis=1)
    name, kind, thread, start, took, device, launch, numbers = columns
    if name.max() >= len(content["names"]) or launch.max() >= len(name):
        raise ValueError("a place that isn't there")
    rank = content["rank"]
    return Trace(
        name, kind.astype(np.int8), thread, start / second, took / second, device, launch, numbers,
        content["names"], threads, {}, content["gpus"], tuple(rank) if rank else None,
        {key: value for key, value in content.items() if key not in ("names", "lanes")},
    )  # fmt: skip


def _columns(lane: dict[str, Any], threads: list[tuple[str, str]]) -> np.ndarray:
    """A lane's eight columns, in the order of Trace's, as rows of an array; times in units."""
    name = np.array(lane["name"], int)
    same, launch, numbers = np.ones(len(name), int), *np.full((2, len(name)), -1)
    if "launch" in lane:
        launch = np.cumsum(np.array(lane["launch"], int))
    for place, count in lane["numbers"]:
        numbers[place] = count
    columns = [
        name,
        same * Kind[lane["kind"].upper()],
        same * threads.index(tuple(lane["thread"])),
        np.cumsum(np.array(lane["wait"], int)),
        np.array(lane["took"], int),
        same * lane["device"],
        launch,
        numbers,
    ]
    return np.stack(columns)
