"""Finds what looks wrong in a snapshot: rules, each with its numbers and with what to try.

A rule that finds nothing says nothing. The thresholds stand here; they keep quiet about what every
healthy run does: a cache that is a little larger than what is used, a forward pass that grows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from snapshots_and_traces.snapshot_viewer.memory_map import map_at
from snapshots_and_traces.snapshots.events import CODE
from snapshots_and_traces.snapshots.lives import BEFORE, Array, History
from snapshots_and_traces.snapshots.snapshot import Snapshot
from snapshots_and_traces.snapshots.stacks import Stacks
from snapshots_and_traces.units import size_text

MiB = 2**20
UNUSED_SHARE, UNUSED_BYTES = 0.2, 64 * MiB
MANY_FREES, MANY_RETRIES, ASKED_AGAIN_SHARE = 10, 3, 0.05
NO_PYTHON_SHARE, NO_STACK_SHARE = 0.9, 0.05
SWINGS = (0.25, 0.1, 0.03, 0.01)  # of the highest peak: how deep a fall ends a step
FEWEST_RISES = 3
GROWTH_SHARE, GROWTH_BYTES = 0.005, MiB
SWING_OVER_GROWTH = 2.0  # most of what a step allocates is freed in it
EXPANDABLE = (
    "Try expandable segments (PYTORCH_ALLOC_CONF, or by its older name PYTORCH_CUDA_ALLOC_CONF, "
    "set to expandable_segments:True before the program starts)."
)
STEADY = "Try sizes that vary less, such as batches padded to a few lengths."
HOLD_LESS = (
    "Look below at who holds most at this moment, and hold less: a smaller batch, checkpointing, a "
    "lower precision, or a tensor let go earlier."
)
OTHERS_FREE = (
    "A free block serves its own stream and pool alone (a CUDA graph's is private), and its "
    "segment goes back to the driver once all of it is free. Try fewer streams that allocate."
)


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong: `says` has the numbers, `advice` what to try, `moment` where."""

    rule: str
    title: str
    says: str
    advice: str
    moment: int | None = None


@dataclass(frozen=True)
class Case:
    """The evidence for the rules: a device's history, and bytes in blocks at each moment."""

    snapshot: Snapshot
    history: History
    used: Array

    @cached_property
    def unused(self) -> Array:
        """Bytes at each moment that are reserved and in no block."""
        return np.maximum(self.history.reserved - self.used, 0)

    @property
    def against_holes(self) -> str:
        """Settings to try against fragmentation, without those that are on already."""
        on = self.snapshot.settings.get("expandable_segments") is True
        return STEADY if on else f"{EXPANDABLE} {STEADY}"


def findings(snapshot: Snapshot, history: History) -> list[Finding]:
    """The findings on the device of a history, the gravest first."""
    blocks = replace(history.allocations, size=history.block_sizes)
    case = Case(snapshot, history, blocks.totals(history.moments))
    return [found for rule in RULES for found in rule(case)]


def out_of_memory(case: Case) -> Iterator[Finding]:
    """The first request that failed, and whether enough was free for it in all."""
    of, places = case.history, case.history.trace.where("oom")
    if not len(places):
        return
    event, moment = of.trace.event(int(places[0])), int(places[0]) + 1
    unused, largest = int(case.unused[moment]), map_at(of, moment).largest_free
    fragmented = unused + event.addr >= event.size > max(largest, event.addr)
    others = f" {len(places) - 1:,} more requests failed." if len(places) > 1 else ""
    says = (
        f"{size_text(event.size)} were asked for while {size_text(of.live[moment])} were allocated "
        f"of {size_text(of.reserved[moment])} reserved. {size_text(unused)} lay free in segments, "
        f"the largest free block had {size_text(largest)}; the device had "
        f"{size_text(event.addr)} left.{others}"
    )
    title, advice = f"Out of memory at event {moment:,}", HOLD_LESS
    if fragmented:
        title, advice = f"{title}, by fragmentation", case.against_holes
        says += " Enough was free in all, but nowhere in one piece."
    elif largest >= event.size:
        advice = f"{OTHERS_FREE} {HOLD_LESS}"
        says += " That block would do, so it is of another stream or pool."
    yield Finding("out of memory", title, says, advice, moment)


def fragmentation(case: Case) -> Iterator[Finding]:
    """Reserved bytes that lay free even when most was allocated."""
    of, peak = case.history, case.history.peak
    unused, reserved = int(case.unused[peak]), int(of.reserved[peak])
    if unused < max(UNUSED_SHARE * reserved, UNUSED_BYTES):
        return
    largest = map_at(of, peak).largest_free
    asked = of.trace.where("segment_alloc", "segment_map")
    spare = int((case.unused[asked] >= of.trace.size[asked]).sum())
    says = (
        f"When most was allocated, {size_text(unused)} of {size_text(reserved)} reserved "
        f"({unused / reserved:.0%}) lay free, in pieces of at most {size_text(largest)}."
    )
    if spare:
        says += (
            f" {spare:,} of {len(asked):,} times the driver was asked for more while as much "
            f"lay free."
        )
    title = f"{unused / reserved:.0%} of what was reserved lay free at the peak: fragmentation"
    yield Finding("fragmentation", title, says, case.against_holes, peak)


def leak(case: Case) -> Iterator[Finding]:
    """A line that holds more after every step."""
    for found in growth(case.history):
        says = (
            f"What {found.site} asked for and still held grew at each of {len(found.held) - 1} "
            f"low points between steps: from {size_text(found.held[0])} to "
            f"{size_text(found.held[-1])}, about {size_text(found.per_step)} a step."
        )
        advice = (
            "Look for what keeps it: a list of losses or outputs (.item() or .detach() them), "
            "a cache without a limit, a graph that is never let go."
        )
        yield Finding("growth", f"{found.site} holds more after every step", says, advice,
                      found.moments[-1])  # fmt: skip


def churn(case: Case) -> Iterator[Finding]:
    """Segments given back to the driver and asked for again, each time at the cost of waiting."""
    trace, reserved = case.history.trace, int(case.history.reserved.max())
    frees = trace.where("segment_free", "segment_unmap")
    asked = trace.where("segment_alloc", "segment_map")
    again = asked[asked > frees[0]] if len(frees) else asked[:0]
    emptied = np.isin(trace.stack[frees], _emptying(trace.stacks))
    retries = int((np.isin(frees + 1, again) & ~emptied).sum())
    freed, regained = int(trace.size[frees].sum()), int(trace.size[again].sum())
    much = len(frees) >= MANY_FREES and min(freed, regained) >= ASKED_AGAIN_SHARE * reserved
    if not (much or retries >= MANY_RETRIES):
        return
    title = f"{len(frees):,} segments given back to the driver, {len(again):,} asked for afterwards"
    says = (
        f"{len(frees):,} segments or parts of them ({size_text(freed)}) went back to the driver, "
        f"and after the first it was asked for {len(again):,} ({size_text(regained)}). Giving back "
        "waits for the device."
    )
    if emptied.any():
        says += f" By their stacks, empty_cache() gave back {int(emptied.sum()):,}."
    advice = "If you call torch.cuda.empty_cache(), don't: what it gives back is needed again."
    if retries:
        times = "Once" if retries == 1 else f"{retries:,} times"
        says += (
            f" {times} a request followed at once, as in a retry: memory is full, and the "
            "allocator empties its cache to try again."
        )
        advice += f" Where memory is full, hold less. {case.against_holes}"
    yield Finding("churn", title, says, advice, int(frees[0]) + 1)


def _emptying(stacks: Stacks) -> list[int]:
    """The stacks in which the program itself empties the cache."""
    names = ("empty_cache", "emptyCache")
    calls = (any(f.name.endswith(names) for f in stacks[n]) for n in range(len(stacks)))
    return [n for n, found in enumerate(calls) if found]


def begins_in_the_middle(case: Case) -> Iterator[Finding]:
    """A trace that lost its beginning, or was begun late."""
    start = case.history.start
    if start.partial:
        advice = (
            "Record from before the model is built, and raise max_entries of "
            "torch.cuda.memory._record_memory_history: only the last events are kept."
        )
        yield Finding("beginning", "The trace begins in the middle", str(start), advice, 0)
    if start.contradictions:
        advice = "Write the snapshot while nothing runs: torch.cuda.synchronize() before it."
        yield Finding("beginning", "Events contradict the end of the trace", str(start), advice)


def ends_while_climbing(case: Case) -> Iterator[Finding]:
    """A peak at the very end: the real one may come after it."""
    of = case.history
    last, top = of.moments - 1, int(of.live[of.peak])
    if of.moments > 100 and of.peak >= 0.99 * last and of.live[last] >= 0.95 * top:
        says = (
            f"The peak is at event {of.peak:,} of {last:,}, and {size_text(of.live[last])} are "
            f"still held at the end: what came later is not in the file, and may be more."
        )
        advice = "Write the snapshot after a whole step, the backward pass and the optimizer too."
        yield Finding("climbing", "The trace ends at its peak", says, advice, of.peak)


def stacks_without_python(case: Case) -> Iterator[Finding]:
    """Stacks that name no line of the user's, and blocks with no stack at all."""
    of, peak = case.history, case.history.peak
    alive = of.allocations.at(peak)
    numbers, sizes = of.stacks[alive], of.allocations.size[alive]
    held, stacks = max(int(sizes.sum()), 1), of.trace.stacks
    nothing = int(sizes[numbers == 0].sum())
    native = {n for n in np.unique(numbers) if n and not any(f.is_python for f in stacks[n])}
    foreign = int(sizes[np.isin(numbers, list(native))].sum())
    if foreign > NO_PYTHON_SHARE * max(held - nothing, 1):
        says = (
            f"{size_text(foreign)} of {size_text(held)} at the peak have a stack of C++ functions "
            "alone: no line of yours is named."
        )
        advice = "Record with _record_memory_history(stacks='all'), from the thread you run in."
        yield Finding("C++ stacks", "The stacks are C++ alone", says, advice, peak)
    if nothing >= NO_STACK_SHARE * held and nothing >= MiB:
        says = (
            f"{size_text(nothing)} of {size_text(held)} at the peak ({nothing / held:.0%}) have no "
            "stack: they were allocated before recording began, or without context."
        )
        advice = "Record with _record_memory_history(context='all') from before the first tensor."
        title = f"{nothing / held:.0%} of the peak has no history"
        yield Finding("no history", title, says, advice, peak)


def unknown_events(case: Case) -> Iterator[Finding]:
    """Kinds of events that are newer than these pages, or none of torch's."""
    unknown = int((case.history.trace.action == CODE["other"]).sum())
    if unknown:
        says = f"{unknown:,} events are of kinds that aren't known here, and were left out."
        advice = "What they allocated or freed is missing in all sums: look for a newer version."
        yield Finding("unknown", f"{unknown:,} events aren't understood", says, advice)


# ---- Steps, found in the curve of live bytes. Nothing in a trace says where a step of training
# ends, but between two steps the curve is low: it falls, and rises again by much more than it
# grew. A forward pass, which only rises, has no steps.


@dataclass(frozen=True)
class Growth:
    """Bytes held by each call stack (`held`) at the low points between steps (`moments`)."""

    site: str
    moments: tuple[int, ...]
    held: tuple[int, ...]

    @property
    def per_step(self) -> float:
        return (self.held[-1] - self.held[0]) / (len(self.held) - 1)


def growth(history: History, most: int = 3) -> list[Growth]:
    """Call sites that held more at every low point than at the one before, by growth.

    The first low points may be a start-up: at least the last three rises count. What all hold must
    have grown with them: an optimizer's new weights take the place of the old ones.
    """
    places = low_points(history.live)
    if len(places) < FEWEST_RISES + 1:
        return []
    held = np.array([history.held_by_site(moment) for moment in places.tolist()])
    found = []
    least = max(GROWTH_SHARE * float(history.live.max()), GROWTH_BYTES)
    for site, name in enumerate(history.site_names):
        rises = np.diff(held[:, site]) > 0
        run = len(rises) if rises.all() else int(np.argmax(~rises[::-1]))
        own = held[len(held) - run - 1 :, site]
        grown = int(own[-1] - own[0])
        in_all = np.diff(history.live[places[-run - 1 :]])
        enough = run >= max(FEWEST_RISES, len(rises) // 2) and grown >= least
        if enough and name != BEFORE and (in_all > 0).all() and in_all.sum() >= grown / 2:
            found.append(Growth(name, tuple(places[-run - 1 :].tolist()), tuple(own.tolist())))
    return sorted(found, key=lambda one: one.held[0] - one.held[-1])[:most]


def low_points(live: Array) -> Array:
    """The moments of the lowest points between steps; none where the curve has no steps."""
    for share in SWINGS:
        lows, highs = _turns(live, share * float(live.max()))
        if len(lows) <= FEWEST_RISES:
            continue
        swing = np.median(live[highs[: len(lows)]] - live[lows])
        if swing >= SWING_OVER_GROWTH * np.median(np.abs(np.diff(live[lows]))):
            return lows
    return np.zeros(0, np.int64)


def _turns(live: Array, depth: float) -> tuple[Array, Array]:
    """The places of lows and highs between which the curve moves by `depth` or more."""
    moves = np.flatnonzero(np.diff(live)) + 1
    lows: list[int] = []
    highs: list[int] = []
    rising, best, extreme = True, 0, 0
    for place, value in zip(moves.tolist(), live[moves].tolist(), strict=True):
        if (rising and value > extreme) or (not rising and value < extreme):
            best, extreme = place, value
        elif abs(value - extreme) >= depth > 0:
            (highs if rising else lows).append(best)
            rising, best, extreme = not rising, place, value
    return np.array(lows, np.int64), np.array(highs, np.int64)


RULES = (
    out_of_memory, leak, fragmentation, churn, ends_while_climbing, begins_in_the_middle,
    stacks_without_python, unknown_events,
)  # fmt: skip
