"""Reading a profiler's trace into columns: every event once, names and threads as numbers.

Categories and fields: Kineto's `ActivityType.cpp` and `output_json.cpp`; its older names ("Kernel",
"Runtime") as HolisticTraceAnalysis knows them. ROCm's traces (`RoctracerActivity_inl.h`) call
HIP's functions `cuda_runtime` too, and a kernel of theirs may have no correlation: the flow that
ends where it begins has it then.
"""

import math
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from snapshots_and_traces.traces.json_events import WRITER, TraceError, events
from snapshots_and_traces.traces.trace import STEP, Allocated, Kind, Trace, dict_or_empty

KINDS = {
    "cpu_op": Kind.OPERATOR, "operator": Kind.OPERATOR,
    "user_annotation": Kind.ANNOTATION,
    "cuda_runtime": Kind.RUNTIME, "cuda_driver": Kind.RUNTIME, "runtime": Kind.RUNTIME,
    "hip_runtime": Kind.RUNTIME, "xpu_runtime": Kind.RUNTIME,
    "kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.COPY, "memcpy": Kind.COPY, "gpu_memset": Kind.COPY, "memset": Kind.COPY,
}  # fmt: skip
FLOWS = ("ac2g", "async_cpu_to_gpu", "async_gpu")
LATEST = 1e17  # µs: 3,000 years after 1970
LONGEST = 1e13  # µs: 115 days
LARGEST = 2**62
MOST_DEVICES = 1024  # in one process; a larger number is a process's own


def read_trace(file: str | Path) -> Trace:
    """The trace in a file, as torch.profiler's `export_chrome_trace` writes it, gzipped or not.

    Complete events, and pairs of begin and end; what began and never ended lasts to the trace's
    end. Other events (counters, labels, instants but for [memory]) are left out.
    Raises: TraceError, with the file's name, for what is no trace, broken or larger than
    `json_events.LARGEST_BYTES` unpacked; OSError where it can't be opened.
    """
    path = Path(file)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "isn't there"
        raise TraceError(f"{path} {what}: give the file that {WRITER} wrote.")
    beside: dict[str, Any] = {}
    columns = _Columns()
    try:
        columns.add_all(events(path, beside))
        return columns.trace(beside)
    except TraceError as problem:
        raise TraceError(f"{path.name} can't be read as a trace: {problem}") from None


class _Columns:
    """Grows by one row for each event; times in µs, as in the file."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.threads: dict[tuple[Any, Any], int] = {}
        self.name, self.kind, self.thread, self.device = (array("i") for _ in range(4))
        self.start, self.took = array("d"), array("d")
        self.link, self.numbers = array("q"), array("q")
        self.open: dict[int, list[int]] = {}  # by thread: what began and hasn't ended
        self.flows: dict[str, tuple[array[int], array[float], array[int]]] = {
            phase: (array("i"), array("d"), array("q")) for phase in "sf"
        }
        self.allocated: list[Allocated] = []

    def add_all(self, found: Iterable[dict[str, Any]]) -> None:
        for number, event in enumerate(found, 1):
            try:
                self.add(event)
            except TraceError as problem:
                raise TraceError(f"event {number:,} {problem}") from None

    def add(self, event: dict[str, Any]) -> None:
        phase = event.get("ph")
        if phase == "X":
            self.row(event, _number(event, "dur", 0.0, LONGEST))
        elif phase == "B":
            self.open.setdefault(self.thread_of(event), []).append(len(self.start))
            self.row(event, math.nan)
        elif phase == "E":
            if begun := self.open.get(self.thread_of(event)):
                place = begun.pop()
                took = _number(event, "ts", -LATEST, LATEST) - self.start[place]
                if not 0 <= took <= LONGEST:
                    raise TraceError("ends before it begins: its clock can't be trusted.")
                self.took[place] = took
        elif phase in ("s", "f") and event.get("cat") in FLOWS:
            threads, times, ids = self.flows[str(phase)]
            ids.append(_whole(event.get("id")))
            threads.append(self.thread_of(event))
            times.append(_number(event, "ts", -LATEST, LATEST))
        elif event.get("name") == "[memory]":
            self.remember(dict_or_empty(event.get("args")))

    def row(self, event: dict[str, Any], took: float) -> None:
        name, kind = event.get("name"), event.get("cat", "")
        if type(name) is not str or type(kind) is not str:
            raise TraceError("has no name, or a category that is no text: write the trace anew.")
        known = KINDS.get(kind.lower(), Kind.OTHER)
        if known == Kind.OPERATOR and STEP.match(name):  # as older profilers wrote it
            known = Kind.ANNOTATION
        args = event.get("args")
        if type(args) is not dict:
            args = {}
        self.start.append(_number(event, "ts", -LATEST, LATEST))
        self.took.append(took)
        self.name.append(self.names.setdefault(name, len(self.names)))
        self.kind.append(known)
        self.thread.append(self.thread_of(event))
        self.device.append(_device(event, args) if known >= Kind.KERNEL else -1)
        self.link.append(_whole(args["correlation"]) if "correlation" in args else -1)
        self.numbers.append(_whole(args["In msg nelems"]) if "In msg nelems" in args else -1)

    def thread_of(self, event: dict[str, Any]) -> int:
        thread = event.get("pid"), event.get("tid")
        try:
            return self.threads[thread]
        except KeyError:
            return self.threads.setdefault(thread, len(self.threads))
        except TypeError:
            raise TraceError(
                "has a process or thread that is neither a number nor a name: write the trace anew."
            ) from None

    def remember(self, args: dict[str, Any]) -> None:
        total, place = _whole(args.get("Total Allocated")), _whole(args.get("Device Id"))
        if total >= 0:
            self.allocated.append(Allocated("CPU" if place < 0 else f"GPU {place}", total))

    def trace(self, beside: dict[str, Any]) -> Trace:
        """The rows as arrays; raises TraceError where there are none."""
        if not self.start:
            raise TraceError("it has no events with a begin and an end: nothing was traced.")
        start, took = np.array(self.start), np.array(self.took)
        began = start.min()
        unended = np.isnan(took)
        took[unended] = np.nanmax(start + np.nan_to_num(took)) - start[unended]
        kind, thread = np.array(self.kind, np.int8), np.array(self.thread)
        link = np.array(self.link)
        for kinds, phase in (((Kind.RUNTIME,), "s"), ((Kind.KERNEL, Kind.COPY), "f")):
            lacking = np.flatnonzero(np.isin(kind, kinds) & (link < 0))
            link[lacking] = self.linked_by_flow(phase, thread[lacking], start[lacking])
        gpus = beside.get("deviceProperties")
        about = dict_or_empty(beside.get("distributedInfo"))
        rank, size = _whole(about.get("rank")), _whole(about.get("world_size"))
        return Trace(
            np.array(self.name), kind, thread, (start - began) / 1e6, took / 1e6,
            np.array(self.device), _launches(kind, link, self.process_of(thread)),
            np.array(self.numbers),
            list(self.names), [(str(process), str(one)) for process, one in self.threads],
            self.allocated,
            [str(dict_or_empty(gpu).get("name")) for gpu in gpus] if isinstance(gpus, list) else [],
            (rank, size) if 0 <= rank < size else None,
        )  # fmt: skip

    def process_of(self, thread: np.ndarray) -> np.ndarray:
        """For each event, the number of its process, in the order in which these appear."""
        numbers: dict[Any, int] = {}
        each = [numbers.setdefault(process, len(numbers)) for process, _ in self.threads]
        return np.array(each)[thread]

    def linked_by_flow(self, phase: str, thread: np.ndarray, start: np.ndarray) -> list[int]:
        """The id of the flow at each of these moments of a thread, or -1."""
        if not len(thread):
            return []
        threads, times, ids = self.flows[phase]
        flows = dict(zip(zip(threads, times, strict=True), ids, strict=True))
        wanted = zip(thread.tolist(), start.tolist(), strict=True)
        return [flows.get(moment, -1) for moment in wanted]


def _launches(kind: np.ndarray, link: np.ndarray, process: np.ndarray) -> np.ndarray:
    """For each event of a GPU, the place of the first runtime call with its correlation, or -1.

    Processes count correlations on their own: one that several called with says nothing.
    """
    launch = np.full(len(kind), -1)
    calls = np.flatnonzero((kind == Kind.RUNTIME) & (link >= 0))
    if len(np.unique(process[calls])) > 1:
        once = np.unique(np.stack([link[calls], process[calls]]), axis=1)[0]
        ids, processes = np.unique(once, return_counts=True)
        calls = calls[~np.isin(link[calls], ids[processes > 1])]
    calls = calls[np.argsort(link[calls], kind="stable")]
    launched = np.flatnonzero(np.isin(kind, (Kind.KERNEL, Kind.COPY)) & (link >= 0))
    at = np.searchsorted(link[calls], link[launched])
    known = at < len(calls)
    launched, at = launched[known], at[known]
    same = link[calls[at]] == link[launched]
    launch[launched[same]] = calls[at[same]]
    return launch


def _number(event: dict[str, Any], field: str, least: float, most: float) -> float:
    value = event.get(field)
    if type(value) is float and least <= value <= most:
        return value
    if value is None:
        raise TraceError(f"has no `{field}`: write the trace anew.")
    if type(value) not in (int, float):
        raise TraceError(f"has a `{field}` that is no number: {str(value)[:40]!r}.")
    if not least <= value <= most:
        said = str(value)[:12]
        raise TraceError(f"has a `{field}` of {said} µs, which no clock gives: trace anew.")
    return float(value)


def _whole(value: Any) -> int:
    """A number that says which or how many, -1 where it is none."""
    return value if type(value) is int and 0 <= value < LARGEST else -1


def _device(event: dict[str, Any], args: dict[str, Any]) -> int:
    """The GPU of a kernel: its process, where nothing else says it; 0 for no GPU's number."""
    found = _whole(args["device"] if "device" in args else event.get("pid"))
    return found if 0 <= found < MOST_DEVICES else 0
