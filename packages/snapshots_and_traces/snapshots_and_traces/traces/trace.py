"""A profiler's trace as columns: events with their thread or stream, begin and end."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from snapshots_and_traces.traces import intervals

# Kernels that send between GPUs, by name: NCCL's and its like, and those that write into memory
# that GPUs share (vLLM's, TensorRT-LLM's and torch's own all-reduce, NVSHMEM, DeepEP).
MESSAGE = re.compile(
    r"nccl|rccl|gloo|oneccl|msccl|cross_device_reduce|nvshmem|deep_?ep|symm_?mem|multimem_"
    r"|(one|two)_?shot|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|PtoP",
    re.IGNORECASE,
)
STEP = re.compile(r"ProfilerStep\s?#\d+")
SENDS = re.compile(r"symm_mem::|_C_custom_ar::")  # operators all of whose kernels send
LOADER = re.compile(  # as torch's DataLoader names its `next`, and Lightning its own
    r"enumerate\(DataLoader\)#|(\[pl\]\[profile\])?\[\w+\]\.(train_dataloader|val)_next"
)
RANKS = re.compile(r"gloo:|mpi:|c10d::")  # spans in which a host may wait for other ranks
ALLOCATING = re.compile(  # the calls that take memory from the driver, or give it back
    r"(cuda|hip)(Malloc|Free|Host(Alloc|Register|Unregister)|HostMalloc|HostFree|MemPool)"
    r"|cuMem(Create|Map|Unmap|Release|SetAccess|Address|Alloc|Free)"
)
PAGEABLE = re.compile(r"Memcpy.*Pageable")
BLOCKING = re.compile(  # the calls that return when the device has done what came before
    r"(cuda|hip|queue)(DeviceSynchronize|StreamSynchronize|EventSynchronize|Memcpy|MemcpyWithStream|Free)"
    r"(_v\d+)?$|cu(CtxSynchronize|StreamSynchronize|EventSynchronize)$"
)


FRAME = re.compile(r".+\.py\(\d+\): ")  # as with_stack=True names a function: file(line): name
NOT_YOURS = re.compile(r"torch/|<|.*(site-packages|dist-packages|/lib/python\d)")
NEAR = 200  # events: an operator and what it calls are fewer
AUTOGRAD = re.compile(r"autograd::engine::")
QUEUED = 1e-4  # seconds; what begins so long after its launch had waited for something


class Kind(IntEnum):
    """The kind of an event."""

    OTHER, OPERATOR, ANNOTATION, RUNTIME, KERNEL, COPY = range(6)


@dataclass(frozen=True)
class Trace:
    """The events of a trace, in the file's order; a column an array, all of one length.

    `start` and `seconds` are in seconds, from the first event. `name` and `thread` are places in
    `names` and `threads`; a thread of a GPU is a stream. `device` is -1 on the host, `launch` the
    place of the runtime call that launched this, or -1; `numbers` how many a message has, or -1.
    `allocated` has the most bytes that torch ever had handed out, by device.
    `about` is for stored traces: what it is, its source, licence and machine. `left_out` counts
    events that no sum is about, by what they have; `repaired` those that were changed.
    """

    name: np.ndarray
    kind: np.ndarray
    thread: np.ndarray
    start: np.ndarray
    seconds: np.ndarray
    device: np.ndarray
    launch: np.ndarray
    numbers: np.ndarray
    names: list[str]
    threads: list[tuple[str, str]]
    allocated: Mapping[str, int] = field(default_factory=dict)
    gpus: list[str] = field(default_factory=list)
    rank: tuple[int, int] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    repaired: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def end(self) -> np.ndarray:
        """When each event ends, in seconds."""
        return self.start + self.seconds

    def named(self, pattern: re.Pattern[str]) -> np.ndarray:
        """Whether the name of each event begins as the pattern says."""
        return np.array([bool(pattern.match(name)) for name in self.names], bool)[self.name]

    @cached_property
    def host(self) -> "Host":
        """The host's events as a tree."""
        return Host(self)

    @cached_property
    def messages(self) -> np.ndarray:
        """Whether each event sends between GPUs: a kernel of NCCL's kind, a copy to a peer."""
        found = np.array([bool(MESSAGE.search(name)) for name in self.names], bool)[self.name]
        by = self.host.parent[self.launch]
        asked = (self.launch >= 0) & (by >= 0)
        found[asked] |= self.named(SENDS)[by[asked]]
        return found & np.isin(self.kind, (Kind.KERNEL, Kind.COPY))

    @cached_property
    def devices(self) -> list[int]:
        """The GPUs that a kernel ran on."""
        return [int(one) for one in np.unique(self.device[self.kind == Kind.KERNEL])]

    def on(self, device: int, *kinds: Kind) -> np.ndarray:
        """Whether each event is of such a kind, on a device."""
        return (self.device == device) & np.isin(self.kind, kinds)

    def moments(self, which: np.ndarray) -> np.ndarray:
        """When any of these events ran: their union, in seconds."""
        return intervals.union(self.start[which], self.end[which])

    @cached_property
    def steps(self) -> dict[str, tuple[float, float]]:
        """Begin and end of each ProfilerStep on the host, in seconds, in order of time."""
        places = np.flatnonzero(self.host.steps)
        places = places[np.argsort(self.start[places])]
        several = len({self.threads[self.thread[i]][0] for i in places}) > 1
        found = {}
        for i in places:
            of = f" of process {self.threads[self.thread[i]][0]}" if several else ""
            found[self.names[self.name[i]] + of] = float(self.start[i]), float(self.end[i])
        return found

    @cached_property
    def whole(self) -> tuple[float, float]:
        """The capture: from the first event's begin to the last one's end, without what the
        profiler says of itself.
        """
        known = self.kind != Kind.OTHER
        known = known if known.any() else ~known
        return float(self.start[known].min()), float(self.end[known].max())

    def window(self, device: int) -> tuple[float, float]:
        """The steps, in seconds: from the first one's begin to the last one's end, or to the end of
        the last that they launched on a device; without steps the whole capture. `device` is -1
        for the host.

        Was the device still at what came before the steps and isn't in the file, it begins when
        the first event of theirs does.
        """
        on_device = self.on(device, Kind.KERNEL, Kind.COPY)
        main = self.host.main(self.host.launcher(device))
        steps = self.host.steps & (self.thread == main)
        if not steps.any():
            return self.whole
        first, last = float(self.start[steps].min()), float(self.end[steps].max())
        called = self.start[self.launch]
        theirs = on_device & (self.launch >= 0) & (called >= first) & (called < last)
        if not theirs.any():
            meets = on_device & (self.start < last) & (self.end > first)
            return (first, last) if device < 0 or meets.any() else self.whole
        at = np.flatnonzero(theirs)[self.start[theirs].argmin()]
        before = on_device & (self.start < self.start[at])
        if not before.any() and self.start[at] > self.end[self.launch[at]] + QUEUED:
            first = float(self.start[at])
        return first, max(last, float(self.end[theirs].max()))


class Host:
    """The host's events as a tree: for each, the innermost one around it on its thread."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        host = trace.device < 0
        self.frames = host & trace.named(FRAME) & (trace.kind == Kind.OTHER)
        self.which = np.flatnonzero((host & (trace.kind != Kind.OTHER)) | self.frames)

    @cached_property
    def process(self) -> np.ndarray:
        """For each thread the number of its process, in the order in which these appear."""
        numbers: dict[str, int] = {}
        each = [numbers.setdefault(name, len(numbers)) for name, _ in self.trace.threads]
        return np.array(each, int)

    def main(self, thread: int = -1) -> int:
        """The thread of the steps in a thread's process; without steps, the one with most
        operators; -1 without either. Without a thread, of the process with most of these.
        """
        trace = self.trace
        mine = (self.process == self.process[thread]) if thread >= 0 else self.process >= 0
        for which in (self.steps, trace.kind == Kind.OPERATOR):
            counts = np.bincount(trace.thread[which], minlength=len(mine)) * mine
            if counts.any():
                return int(counts.argmax())
        return -1

    def launcher(self, device: int) -> int:
        """The thread that launched most of what ran on a device, or -1."""
        trace = self.trace
        ran = trace.on(device, Kind.KERNEL, Kind.COPY) & (trace.launch >= 0)
        return int(np.bincount(trace.thread[trace.launch[ran]]).argmax()) if ran.any() else -1

    @cached_property
    def steps(self) -> np.ndarray:
        """Whether each event is a ProfilerStep."""
        trace = self.trace
        kinds = np.isin(trace.kind, (Kind.ANNOTATION, Kind.OPERATOR))
        return np.asarray(kinds & (trace.device < 0) & trace.named(STEP))

    def asked(self, thread: int) -> list[int]:
        """Threads that may explain why a thread was late: itself, that of the steps, autograd's."""
        mine = [one for one in self._backward if self.process[one] == self.process[thread]]
        return [thread, self.main(thread), *mine] if thread >= 0 else [thread]

    @cached_property
    def _backward(self) -> list[int]:
        """The threads that autograd's engine runs the backward pass on."""
        trace = self.trace
        mine = trace.named(AUTOGRAD) & (trace.kind == Kind.OPERATOR)
        return [int(one) for one in np.unique(trace.thread[mine])]

    @cached_property
    def order(self) -> np.ndarray:
        """The places of the host's events by thread, time and depth."""
        trace, which = self.trace, self.which
        depth = trace.kind[which] == Kind.RUNTIME  # of two with the same times, a call is inside
        keys = depth, -trace.end[which], trace.start[which], trace.thread[which]
        return which[np.lexsort(keys)]

    @cached_property
    def parent(self) -> np.ndarray:
        """For each event, the place of the innermost one around its begin on its thread, or -1."""
        trace, order = self.trace, self.order
        found = np.full(len(trace.start), -1)
        starts, ends = trace.start[order].tolist(), trace.end[order].tolist()
        threads, inner = trace.thread[order].tolist(), [-1] * len(order)
        around: list[int] = []
        last = -1
        for i, thread in enumerate(threads):
            if thread != last:
                around, last = [], thread
            while around and starts[i] >= ends[around[-1]]:
                around.pop()
            if around:
                inner[i] = around[-1]
            around.append(i)
        inside = np.array(inner, np.int64)
        found[order] = np.where(inside >= 0, order[inside], -1) if len(order) else inside
        return found

    def around(self, place: int) -> list[int]:
        """An event and all around it, the innermost first."""
        found = []
        while place >= 0:
            found.append(place)
            place = int(self.parent[place])
        return found

    def of_thread(self, thread: int) -> np.ndarray:
        """The places of a thread's events, in order of time and depth."""
        first, last = np.searchsorted(self._threads, [thread, thread + 1])
        return np.asarray(self.order[first:last])

    @cached_property
    def _threads(self) -> np.ndarray:
        return np.asarray(self.trace.thread[self.order])

    def at(self, thread: int, moment: float) -> list[int]:
        """The events that a thread was in at a moment, the innermost first."""
        trace = self.trace
        mine = self.of_thread(thread)
        place = int(np.searchsorted(trace.start[mine], moment, side="right")) - 1
        if place < 0:
            return []
        return [one for one in self.around(int(mine[place])) if trace.end[one] > moment]

    def before(self, thread: int, moment: float) -> int:
        """The operator of a thread that ended last before a moment, the outermost; or -1."""
        trace, mine = self.trace, self.of_thread(thread)
        last = int(np.searchsorted(trace.start[mine], moment, side="right"))
        near = mine[max(last - NEAR, 0) : last]
        ended = near[(trace.kind[near] == Kind.OPERATOR) & (trace.end[near] <= moment)]
        order = np.lexsort((trace.start[ended], -trace.end[ended]))
        return int(ended[order[0]]) if len(ended) else -1

    def place(self, around: list[int], rather: re.Pattern[str] | None = None) -> str:
        """The place of a moment in the reader's code, as far as the file says; "" where it doesn't.

        The innermost function outside of libraries; without stacks the outermost of those that
        `rather` fits, or the outermost operator; else the innermost annotation that isn't a step.
        """
        names = [(one, self.trace.names[self.trace.name[one]]) for one in around]
        frames = [name for one, name in names if self.frames[one]]
        if yours := [name for name in frames if not NOT_YOURS.match(name)] or frames:
            return yours[0]
        if found := [name for _, name in names if rather and rather.match(name)]:
            return found[-1]
        kinds = self.trace.kind
        operators = [name for one, name in names if kinds[one] == Kind.OPERATOR]
        if operators:
            return operators[-1]
        notes = [name for one, name in names if kinds[one] == Kind.ANNOTATION]
        return next((name for name in notes if not STEP.match(name)), "")


def dict_or_empty(found: Any) -> dict[str, Any]:
    """Returns `found` if it is an object of JSON, else an empty one."""
    return found if isinstance(found, dict) else {}
