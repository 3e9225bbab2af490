"""What a recorded program would have taken with other settings, sizes, neighbours, or cards.

A `Program` is what was asked of the allocator and nothing of what it answered, so that any
allocator can be asked again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from course_utils.memory.allocator.expandable import ExpandableAllocator
from course_utils.memory.allocator.rules import Block, CachingAllocator, Driver, OutOfMemory
from course_utils.memory.allocator.settings import Settings
from course_utils.memory.allocator.tuned import TunedAllocator
from course_utils.memory.recorded import GIVES, RecordedTrace, allocator_for
from course_utils.memory.recorded_start import DEFAULT
from course_utils.memory.restored_allocator import restore

GiB = 2**30
CARDS = {f"{size} GB": size * GiB for size in (8, 16, 24, 80)}  # a card's "GB" are GiB


class Step(NamedTuple):
    """`alloc` of `size` bytes as number `key`, `free` of it, or `empty_cache`."""

    action: str
    key: int = 0
    size: int = 0
    stream: int = 0
    pool: Any = DEFAULT


@dataclass(frozen=True)
class Program:
    """The steps of a program; the first `before` only bring in what was there at the start."""

    steps: tuple[Step, ...]
    before: int = 0
    title: str = ""

    @property
    def lasting(self) -> set[int]:
        """Sizes in bytes of what is never freed, or was there before and is freed late."""
        return {step.size for step in self.steps[: self.before] if step.action == "alloc"}


@dataclass(frozen=True)
class Outcome:
    """Bytes after each step, as arrays; `ran_out` is the step for which there was no memory.

    An array ends where memory ran out; `asked` is what that step asked for.
    """

    allocated: np.ndarray
    reserved: np.ndarray
    ran_out: int | None = None
    asked: int = 0

    @property
    def peak_allocated(self) -> int:
        return int(self.allocated.max(initial=0))

    @property
    def peak_reserved(self) -> int:
        return int(self.reserved.max(initial=0))

    @property
    def fragmentation(self) -> np.ndarray:
        """The share of the reserved bytes that nothing uses, after each step."""
        return 1 - self.allocated / np.maximum(self.reserved, 1)


def program_of(trace: RecordedTrace) -> Program:
    """What a recorded trace asked for; first, by address, what was in use when it began.

    In which order that was allocated, and what was freed before, the trace doesn't tell.
    """
    allocator = allocator_for(trace)
    live = restore(allocator, trace.start, trace.calls)
    steps, keys = [], {}
    for key, (address, block) in enumerate(sorted(live.items())):
        keys[address] = key
        steps.append(Step("alloc", key, block.size, block.pool.stream, block.pool.graph))
    before, released = len(steps), False
    for call in trace.calls:
        if call.action == "alloc":
            keys[call.addr] = len(steps)
            steps.append(Step("alloc", len(steps), call.size, call.stream, call.pool))
        elif call.action == "free_completed" and call.addr in keys:
            steps.append(Step("free", keys.pop(call.addr)))
        elif call.action in GIVES and not released:
            steps.append(Step("empty_cache"))
        released = call.action in GIVES
    return Program(tuple(steps), before, trace.title)


def run(
    program: Program,
    settings: Settings | None = None,
    capacity: float = float("inf"),
    allocator: CachingAllocator | None = None,
) -> Outcome:
    """The program from an empty allocator on a device with `capacity` bytes for it.

    `settings` are those of torch unless given; `allocator` is another one than torch's.
    """
    settings = settings or Settings()
    kind = ExpandableAllocator if settings.expandable_segments else TunedAllocator
    allocator = allocator or kind(Driver(capacity), settings)
    live: dict[int, Block] = {}
    curves: tuple[list[int], list[int]] = ([], [])
    ran_out, asked = None, 0
    for place, (action, key, size, stream, pool) in enumerate(program.steps):
        try:
            if action == "alloc":
                live[key] = allocator.malloc(size, stream, pool)
            elif action == "free":
                allocator.free(live.pop(key))
            else:
                allocator.empty_cache()
        except OutOfMemory:
            ran_out, asked = place, size
            break
        curves[0].append(allocator.allocated)
        curves[1].append(allocator.reserved)
    allocated, reserved = (np.array(curve, dtype=np.int64) for curve in curves)
    return Outcome(allocated, reserved, ran_out, asked)


def resized(program: Program, change: Callable[[Step], int]) -> Program:
    """The same program with `change(step)` bytes for each allocation."""
    steps = [
        s._replace(size=max(1, change(s))) if s.action == "alloc" else s for s in program.steps
    ]
    return replace(program, steps=tuple(steps))


def with_batch(program: Program, factor: float) -> Program:
    """A batch `factor` times as large: what has no lasting block's size is scaled.

    Parameters, gradients and optimiser states keep their sizes, since the lasting blocks have
    them; activations grow. A guess where an activation happens to be as large as a parameter.
    """
    lasting = program.lasting
    return resized(program, lambda s: s.size if s.size in lasting else round(s.size * factor))


def with_interference(program: Program, size: int, every: int) -> Program:
    """Someone else's `size` bytes, allocated after every `every` allocations and kept.

    A logged tensor, a cache that grows: what lands between the blocks of the step keeps them from
    merging.
    """
    if every < 1 or size < 1:
        raise ValueError(f"size and every are at least 1, not {size} and {every}")
    steps: list[Step] = []
    key, seen = 1 + max((s.key for s in program.steps), default=0), 0
    for place, step in enumerate(program.steps):
        steps.append(step)
        seen += step.action == "alloc" and place >= program.before
        if step.action == "alloc" and seen and seen % every == 0:
            steps.append(Step("alloc", key, size, step.stream))
            key += 1
    return replace(program, steps=tuple(steps))


def on_cards(
    program: Program,
    settings: Settings | None = None,
    outside: int = 0,
    cards: Iterable[str] = tuple(CARDS),
) -> list[dict[str, Any]]:
    """A row a card: whether the program fits, and if not, at which step and why.

    `outside` is what the CUDA context and libraries take on the card besides the allocator, in
    bytes. "idle" are bytes reserved and unused when memory ran out: what fragmentation cost.
    """
    rows = []
    for card in cards:
        found = run(program, settings, CARDS[card] - outside)
        stopped = found.ran_out is not None and len(found.reserved) > 0
        last = (int(found.reserved[-1]), int(found.allocated[-1])) if stopped else (0, 0)
        rows.append(
            {
                "card": card,
                "fits": found.ran_out is None,
                "ran out at step": found.ran_out,
                "asked": found.asked or None,
                "allocated": last[1] if stopped else found.peak_allocated,
                "reserved": last[0] if stopped else found.peak_reserved,
                "idle": last[0] - last[1] if stopped else None,
            }
        )
    return rows


def settings_table(
    program: Program,
    texts: Sequence[str] = ("", "expandable_segments:True", "max_split_size_mb:128"),
) -> list[dict[str, Any]]:
    """A row for each setting, written as in PYTORCH_CUDA_ALLOC_CONF: peaks in bytes, idle share."""
    rows = []
    for text in texts:
        found = run(program, Settings.parse(text))
        peak = int(found.reserved.argmax()) if len(found.reserved) else 0
        idle = float(found.fragmentation[peak]) if len(found.reserved) else 0.0
        rows.append(
            {
                "setting": text or "(default)",
                "peak allocated": found.peak_allocated,
                "peak reserved": found.peak_reserved,
                "idle at the peak": round(idle, 4),
            }
        )
    return rows
