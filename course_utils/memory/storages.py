"""Blocks of memory with their lifetimes, and what is alive at a moment, by kind."""

from dataclasses import dataclass
from typing import NamedTuple

import torch

KINDS = (
    "parameter",
    "half copy",
    "gradient",
    "optimizer state",
    "activation",
    "input",
    "temporary",
)


class Frame(NamedTuple):
    """A line of Python that was running: function, file (its last two parts), line number."""

    name: str
    filename: str
    line: int


@dataclass(eq=False, slots=True)
class Storage:
    """One block of memory, from the event that made it to the one that freed it.

    `born` and `died` count events; 0 is "before the count began", `died` None "still alive".
    `phase` is "before", "forward", "backward" or "step"; `op` the operator that made it; `frames`
    the Python frames that called it, innermost first, where the count keeps them.
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
