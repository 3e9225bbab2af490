"""A profiler's trace as columns: who did what, on which thread or stream, from when to when."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from snapshots_and_traces.traces import intervals

MESSAGE = re.compile(r"nccl|rccl|gloo", re.IGNORECASE)
STEP = re.compile(r"ProfilerStep\s?#\d+")
LOADER = re.compile(r"enumerate\(DataLoader\)#")
PAGEABLE = re.compile(r"Memcpy.*Pageable")
BLOCKING = re.compile(  # the calls that return when the device has done what came before
    r"(cuda|hip|queue)(DeviceSynchronize|StreamSynchronize|EventSynchronize|Memcpy|MemcpyWithStream|Free)"
    r"(_v\d+)?$|cu(CtxSynchronize|StreamSynchronize|EventSynchronize)$"
)


class Kind(IntEnum):
    """What an event is."""

    OTHER, OPERATOR, ANNOTATION, RUNTIME, KERNEL, COPY = range(6)


@dataclass(frozen=True)
class Trace:
    """The events of a trace, in the file's order; a column an array, all of one length.

    `start` and `seconds` are in seconds, from the first event. `name` and `thread` are places in
    `names` and `threads`; a thread of a GPU is a stream. `device` is -1 on the host, `launch` the
    place of the runtime call that launched this, or -1; `numbers` how many a message has, or -1.
    `allocated` has the most bytes that torch ever had handed out, by device.
    `about` is for stored traces: what it is, its source, licence and machine. `left_out` counts
    events that no sum is about, by what they have.
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

    @cached_property
    def end(self) -> np.ndarray:
        """When each event ends, in seconds."""
        return self.start + self.seconds

    def named(self, pattern: re.Pattern[str]) -> np.ndarray:
        """Whether the name of each event begins as the pattern says."""
        return np.array([bool(pattern.match(name)) for name in self.names], bool)[self.name]

    @cached_property
    def messages(self) -> np.ndarray:
        """Whether each event is a kernel of NCCL, RCCL or gloo: a collective or a message."""
        found = np.array([bool(MESSAGE.search(name)) for name in self.names], bool)[self.name]
        return found & (self.kind == Kind.KERNEL)

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
        host = np.isin(self.kind, (Kind.ANNOTATION, Kind.OPERATOR)) & (self.device < 0)
        places = np.flatnonzero(host & self.named(STEP))
        places = places[np.argsort(self.start[places])]
        several = len({self.threads[self.thread[i]][0] for i in places}) > 1
        found = {}
        for i in places:
            of = f" of process {self.threads[self.thread[i]][0]}" if several else ""
            found[self.names[self.name[i]] + of] = float(self.start[i]), float(self.end[i])
        return found

    def window(self, device: int) -> tuple[float, float]:
        """From the first kernel's begin to the last one's end, in seconds."""
        ran = self.on(device, Kind.KERNEL)
        return float(self.start[ran].min()), float(self.end[ran].max())


def dict_or_empty(found: Any) -> dict[str, Any]:
    """What should be an object of the file, else an empty one."""
    return found if isinstance(found, dict) else {}
