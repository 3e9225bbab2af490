"""Blocks of memory with their lifetimes, and what is alive at a moment, by kind."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from snapshots_and_traces.snapshots.stacks import Frame

KINDS = (
    "parameter",
    "half copy",
    "gradient",
    "optimizer state",
    "activation",
    "input",
    "temporary",
)


@dataclass(eq=False, slots=True)
class Storage:
    """One block of memory, from the event that made it to the one that freed it.

    `born` and `died` count events; 0 is "before the count began", `died` None "still alive".
    `phase` is "before", "forward", "backward" or "step"; `op` the operator that made it; `frames`
    the Python frames that called it, innermost first, where the count keeps them; of a file's path
    they have the last two parts.
    """

    n_bytes: int
    born: int
    phase: str
    op: str
    device: torch.device
    kind: str | None = None
    died: int | None = None
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Moment:
    """The live bytes by kind after event `index`, in `phase`, made by operator `op`."""

    index: int
    phase: str
    op: str
    n_bytes: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.n_bytes.values())


def moments_of(storages: Sequence[Storage]) -> Iterator[Moment]:
    """The live bytes by kind before the first event and after each, in order."""
    live = Counter(dict.fromkeys(KINDS, 0))
    events: dict[int, tuple[Storage, int]] = {}
    for storage in storages:
        if storage.born:
            events[storage.born] = storage, storage.n_bytes
        else:
            live[storage.kind or "temporary"] += storage.n_bytes
        if storage.died:
            events[storage.died] = storage, -storage.n_bytes
    yield Moment(0, "before", "", dict(live))
    phase = "before"
    for index in sorted(events):
        storage, n_bytes = events[index]
        live[storage.kind or "temporary"] += n_bytes
        if n_bytes > 0:
            phase = storage.phase
        yield Moment(index, phase, storage.op, dict(live))
