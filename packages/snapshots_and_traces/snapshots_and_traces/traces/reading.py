"""Reading a profiler's trace into columns: every event once, names and threads as numbers.

Categories and fields: Kineto's `ActivityType.cpp` and `output_json.cpp`; its older names ("Kernel",
"Runtime") as HolisticTraceAnalysis knows them. ROCm's traces (`RoctracerActivity_inl.h`) call
HIP's functions `cuda_runtime` too, and a kernel of theirs may have no correlation: the flow that
ends where it begins has it then. Form: Google's "Trace Event Format", read by msgspec.
"""

import gzip
import math
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from snapshots_and_traces.traces.trace import STEP, Kind, Trace, dict_or_empty

KINDS = {
    "cpu_op": Kind.OPERATOR, "operator": Kind.OPERATOR,
    "user_annotation": Kind.ANNOTATION,
    "cuda_runtime": Kind.RUNTIME, "cuda_driver": Kind.RUNTIME, "runtime": Kind.RUNTIME,
    "hip_runtime": Kind.RUNTIME, "xpu_runtime": Kind.RUNTIME,
    "kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.COPY, "memcpy": Kind.COPY, "gpu_memset": Kind.COPY, "memset": Kind.COPY,
}  # fmt: skip
# Of the host, or labels: no sum of the report is about them.
NOT_MEASURED = (
    "", "python_function", "gpu_user_annotation", "overhead", "trace", "spans", "fwdbwd",
    "cpu_instant_event", "cuda_sync", "collective_comm", "external_correlation",
)  # fmt: skip
FLOWS = ("ac2g", "async_cpu_to_gpu", "async_gpu")
WRITER = "torch.profiler's export_chrome_trace"
BEYOND_REPAIR = {  # by what msgspec says of a file
    "missing required field `traceEvents`": (
        f"it has no `traceEvents`: give the file that {WRITER} wrote."
    ),
    "$.traceEvents": "its `traceEvents` isn't one list of events.",
    "truncated": "it was cut off; copy it anew.",
    "trailing characters": "something follows the end of the trace: it isn't one JSON value.",
}
LARGEST_BYTES = 2**30  # unpacked; a million events with stacks and shapes have half of that
BATCH = 10_000  # events that are Python's objects at once
LONGEST = 1e11  # µs, 28 hours: no event lasts longer, nor is it so far from the others
UNSET = 1e7  # µs: where the others are later than that, a time of 0 is none
LARGEST = 2**62
MOST_DEVICES = 1024  # in one process; a larger number is a process's own
OVERRUN = "a duration that runs over the next of its stream, cut there"
NO_TIME, NO_FIELDS = "an impossible time or duration", "no name, thread or time that can be"
CONTROL = bytes.maketrans(bytes(range(32)), b" " * 32)
LONE = re.compile(  # half of a character that two escapes write
    rb"\\u[dD][89aAbB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89aAbB]..)\\u[dD][c-fC-F].."
)
NO_NUMBER = re.compile(rb"(?<=[:,\[ ])-?(?:NaN|Infinity|nan|inf)(?=[,\]} ])")


class TraceError(ValueError):
    """A file that is no profiler trace, or a broken one; the message is a sentence."""


class _Args(msgspec.Struct, gc=False):
    """The fields read of an event's `args`; any of them may be of any type."""

    device: Any = -1
    correlation: Any = None
    numbers: Any = msgspec.field(name="In msg nelems", default=None)
    allocated: Any = msgspec.field(name="Total Allocated", default=None)
    place: Any = msgspec.field(name="Device Id", default=None)


class _Event(msgspec.Struct, gc=False):
    """The fields read of an event; the rest is skipped."""

    ph: str | None = None
    name: str | None = None
    cat: str | None = None
    ts: float | None = None
    dur: float | None = None
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    id: Any = None
    args: _Args | None = None


class _File(msgspec.Struct, gc=False):
    traceEvents: list[msgspec.Raw]
    deviceProperties: Any = None
    distributedInfo: Any = None


NO_ARGS = _Args()
LIST = msgspec.json.Decoder(list[msgspec.Raw])
OBJECT = msgspec.json.Decoder(_File)
EVENTS, EVENT = msgspec.json.Decoder(list[_Event]), msgspec.json.Decoder(_Event)


def read_trace(file: str | Path) -> Trace:
    """The trace in a file, as torch.profiler's `export_chrome_trace` writes it, gzipped or not.

    Complete events, and pairs of begin and end; what began and never ended lasts to the trace's
    end. Other events (counters, labels, instants but for [memory]) are left out, and so is an event
    whose time or fields can't be: `left_out` of the trace counts these.
    Raises: TraceError, with the file's name, for what is no trace, broken or larger than
    LARGEST_BYTES unpacked; OSError where it can't be opened.
    """
    path = Path(file)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "isn't there"
        raise TraceError(f"{path} {what}: give the file that {WRITER} wrote.")
    try:
        found = _file(_content(path))
        columns = _Columns()
        for event in _events(found.traceEvents, columns.left_out):
            columns.add(event)
        return columns.trace(found)
    except TraceError as problem:
        raise TraceError(f"{path.name} can't be read as a trace: {problem}") from None


def _content(path: Path) -> bytes:
    """The file's bytes, unpacked where it is packed by gzip. Raises: TraceError, OSError."""
    with path.open("rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        try:
            with gzip.GzipFile(fileobj=plain) if packed else plain as unpacked:
                content = unpacked.read(LARGEST_BYTES + 1)
        except EOFError:
            raise TraceError("its gzip stream is cut off: copy it anew.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise TraceError(f"its gzip stream is broken ({error}): copy it anew.") from None
    if len(content) > LARGEST_BYTES:
        raise TraceError(
            f"it has more than {LARGEST_BYTES >> 20:,} MiB unpacked: trace fewer steps, with "
            "torch.profiler.schedule(active=2)."
        )
    return content


def _file(content: bytes) -> _File:
    """An object with `traceEvents`, or a bare list. Raises: TraceError, without the file's name."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    begins = re.match(rb"\s*(\S)", content)
    if not begins:
        raise TraceError(f"it is empty: give the file that {WRITER} wrote.")
    if begins[1] not in b"[{":
        raise TraceError(_stranger(begins[1]))
    is_list = begins[1] == b"["
    try:
        return _decoded(content, is_list)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = content.decode("utf-8", "replace").encode()  # as some profilers write it
        text = LONE.sub(b"?", text.translate(CONTROL))
    try:
        return _decoded(NO_NUMBER.sub(b"null", text), is_list)
    except msgspec.DecodeError as error:
        said = f"it isn't JSON ({str(error)[:90]}): write the trace anew."
        raise TraceError(said) from None


def _decoded(content: bytes, is_list: bool) -> _File:
    """Decodes a trace with msgspec. Raises: TraceError where no repair of its text helps."""
    try:
        return _File(LIST.decode(content)) if is_list else OBJECT.decode(content)
    except RecursionError:
        raise TraceError("it is nested deeper than any trace: write the trace anew.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        for said, sentence in BEYOND_REPAIR.items():
            if said in str(error):
                raise TraceError(sentence) from None
        raise


def _stranger(first: bytes) -> str:
    if not first.isascii():
        return (
            f"it isn't text: give the file that {WRITER} wrote (a memory snapshot is opened by "
            "`python -m snapshots_and_traces snapshot`)."
        )
    return f"it isn't JSON, it begins with {first.decode()!r}: give the file that {WRITER} wrote."


def _events(found: list[msgspec.Raw], left_out: Counter[str]) -> Iterator[_Event]:
    """The events; those whose fields are of the wrong type are left out, and counted."""
    for begin in range(0, len(found), BATCH):
        batch = found[begin : begin + BATCH]
        try:
            yield from EVENTS.decode(b"[" + b",".join(batch) + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            for one in batch:
                try:
                    yield EVENT.decode(one)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    left_out[NO_FIELDS] += 1


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
        self.allocated: dict[str, int] = {}
        self.left_out: Counter[str] = Counter()

    def add(self, event: _Event) -> None:
        phase = event.ph
        if phase == "X":
            took = event.dur
            self.row(event, took if took is not None and 0 <= took <= LONGEST else -1)
        elif phase == "B":
            self.open.setdefault(self.thread_of(event), []).append(len(self.start))
            self.row(event, math.nan)
        elif phase == "E" and event.ts is not None:
            if begun := self.open.get(self.thread_of(event)):
                place = begun.pop()
                took = event.ts - self.start[place]
                self.took[place] = took if 0 <= took <= LONGEST else -1
        elif phase in ("s", "f") and event.cat in FLOWS and event.ts is not None:
            threads, times, ids = self.flows[phase]
            ids.append(_whole(event.id))
            threads.append(self.thread_of(event))
            times.append(event.ts)
        elif event.name == "[memory]":
            self.remember(event.args or NO_ARGS)

    def row(self, event: _Event, took: float) -> None:
        """A row for an event; `took` is -1 where it can't be, NaN where it isn't known yet."""
        name, kind, args = event.name, (event.cat or "").lower(), event.args or NO_ARGS
        if name is None:
            took, name = -1, ""
        known = KINDS.get(kind, Kind.OTHER)
        if known == Kind.OPERATOR and STEP.match(name):  # as older profilers wrote it
            known = Kind.ANNOTATION
        if known == Kind.OTHER and kind not in NOT_MEASURED:
            self.left_out[f"the unknown category {kind[:40]!r}"] += 1
        self.start.append(math.nan if event.ts is None else event.ts)
        self.took.append(took)
        self.name.append(self.names.setdefault(name, len(self.names)))
        self.kind.append(known)
        self.thread.append(self.thread_of(event))
        self.device.append(_device(event, args) if known >= Kind.KERNEL else -1)
        self.link.append(-1 if args.correlation is None else _whole(args.correlation))
        self.numbers.append(-1 if args.numbers is None else _whole(args.numbers))

    def thread_of(self, event: _Event) -> int:
        thread = event.pid, event.tid
        number = self.threads.get(thread)
        return self.threads.setdefault(thread, len(self.threads)) if number is None else number

    def remember(self, args: _Args) -> None:
        total, place = _whole(args.allocated), _whole(args.place)
        if total >= 0:
            name = "CPU" if place < 0 else f"GPU {place}"
            self.allocated[name] = max(total, self.allocated.get(name, 0))

    def trace(self, file: _File) -> Trace:
        """The rows as arrays; raises TraceError where there are none."""
        start, took = np.array(self.start), np.array(self.took)
        possible = ~(took < 0) & ~np.isnan(start)
        middle = _middle(start[possible])
        unset = (start == 0) & (middle > UNSET)  # a clock that nobody read
        possible &= ~unset & (abs(start - middle) <= LONGEST)
        self.left_out[NO_TIME] += int((~possible).sum())
        if not possible.any():
            raise TraceError("it has no events with a begin and an end: nothing was traced.")
        start, took = start[possible], took[possible]
        unended = np.isnan(took)
        took[unended] = np.nanmax(start + np.nan_to_num(took)) - start[unended]
        kind, thread = np.array(self.kind, np.int8)[possible], np.array(self.thread)[possible]
        link = np.array(self.link)[possible]
        for kinds, phase in (((Kind.RUNTIME,), "s"), ((Kind.KERNEL, Kind.COPY), "f")):
            lacking = np.flatnonzero(np.isin(kind, kinds) & (link < 0))
            link[lacking] = self.linked_by_flow(phase, thread[lacking], start[lacking])
        device = np.array(self.device)[possible]
        launch = _launches(kind, link, self.process_of(thread))
        overrun = _cut_overruns(start, took, np.where(device >= 0, thread, -1), launch)
        gpus, about = file.deviceProperties, dict_or_empty(file.distributedInfo)
        rank, size = _whole(about.get("rank")), _whole(about.get("world_size"))
        return Trace(
            np.array(self.name)[possible], kind, thread, (start - start.min()) / 1e6, took / 1e6,
            device, launch,
            np.array(self.numbers)[possible],
            list(self.names), [(str(process), str(one)) for process, one in self.threads],
            self.allocated,
            [str(dict_or_empty(gpu).get("name")) for gpu in gpus] if isinstance(gpus, list) else [],
            (rank, size) if 0 <= rank < size else None,
            left_out={what: n for what, n in self.left_out.most_common() if n},
            repaired={OVERRUN: overrun} if overrun else {},
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


def _middle(values: np.ndarray) -> float:
    """One of the values, with as many below as above it."""
    middle = len(values) // 2
    return float(np.partition(values, middle)[middle]) if len(values) else 0.0


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


def _cut_overruns(
    start: np.ndarray, took: np.ndarray, stream: np.ndarray, launch: np.ndarray
) -> int:
    """Cuts what lasts longer than the whole of what comes next on its stream, which runs in order;
    how many there were. The nodes of one CUDA graph may run beside each other.
    """
    places = np.flatnonzero(stream >= 0)
    order = places[np.lexsort((start[places], stream[places]))]
    one, following = order[:-1], order[1:]
    over = (stream[one] == stream[following]) & (
        start[one] + took[one] >= start[following] + took[following]
    )
    over &= (start[one] < start[following]) & (
        (launch[one] < 0) | (launch[one] != launch[following])
    )
    took[one[over]] = start[following[over]] - start[one[over]]
    return int(over.sum())


def _whole(value: Any) -> int:
    """A number that says which or how many, -1 where it is none."""
    return value if type(value) is int and 0 <= value < LARGEST else -1


def _device(event: _Event, args: _Args) -> int:
    """The GPU of a kernel: its process, where nothing else says it; 0 for no GPU's number."""
    found = _whole(event.pid if args.device == -1 else args.device)
    return found if 0 <= found < MOST_DEVICES else 0
