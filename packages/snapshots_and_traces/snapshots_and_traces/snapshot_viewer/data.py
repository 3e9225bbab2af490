"""A snapshot as the page has it: words, and columns of numbers."""

from typing import Any

import numpy as np

from snapshots_and_traces.colours import KINDS_OF_BYTES
from snapshots_and_traces.offline.columns import Columns
from snapshots_and_traces.snapshot_viewer.findings import Finding, findings
from snapshots_and_traces.snapshot_viewer.groups import group_of_site, groups
from snapshots_and_traces.snapshots.events import ACTIONS
from snapshots_and_traces.snapshots.lives import BEFORE, Array, History, history
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.snapshots.snapshot import Snapshot
from snapshots_and_traces.snapshots.stacks import PASSING, Frame, Stacks, native, who
from snapshots_and_traces.units import shortened, size_text

Line = tuple[str, str, bool]
MOST_BYTES, MOST_RANGES, LATEST_US = 2**50, 2**22, 2**52
MOST_LINES, LONGEST_NAME = 200, 90
MEANINGS = {
    "alloc": "a block is handed out",
    "free_requested": "the program lets go of a block, which other streams may still use",
    "free_completed": "the block is free, and stays reserved",
    "segment_alloc": "a segment comes from the driver",
    "segment_free": "a segment goes back to the driver",
    "segment_map": "the driver adds pages to an expandable segment",
    "segment_unmap": "pages of an expandable segment go back to the driver",
    "oom": "a request fails",
    "snapshot": "a snapshot is taken",
}
NO_STACK = who(())


def content(
    snapshot: Snapshot, device: int | None = None, before: Snapshot | None = None
) -> tuple[dict[str, Any], bytes]:
    """The words of a page and its columns; `device` is the one that it shows first.

    With a snapshot from `before`, its devices come behind, and what grew since is told.
    Raises: SnapshotError for numbers that can't be; ValueError for a device that isn't there.
    """
    first = snapshot.the_device(device) if device is not None else _busiest(snapshot)
    columns, lines = Columns(), Lines()
    stacks: list[list[int]] = []
    devices: list[dict[str, Any]] = []
    for one in [snapshot, *([before] if before else [])]:
        earlier = len(stacks)
        stacks += lines.of(one.stacks)
        for number in one.devices:
            of = history(one, number)
            devices.append(_device(of, findings(one, of), columns, earlier))
        for told in devices[-len(one.devices) :]:
            told |= {"label": f"{told['number']} of {one.name}"} if before else {}
            told["earlier"] = one is before
    words = {**_fixed(), "first": snapshot.devices.index(first), "stacks": stacks}
    words |= {"lines": lines.known, "devices": devices}
    if before:
        words["names"] = [before.name, snapshot.name]
        words["grown"] = grown(before, snapshot, first)
    return words, columns.together()


def content_of(of: History) -> tuple[dict[str, Any], bytes]:
    """The same of one device's history alone, without what looks wrong."""
    columns, lines = Columns(), Lines()
    stacks, device = lines.of(of.trace.stacks), _device(of, [], columns, 0)
    words = {**_fixed(), "first": 0, "stacks": stacks, "lines": lines.known, "devices": [device]}
    return words, columns.together()


def _fixed() -> dict[str, Any]:
    actions = [[name, MEANINGS.get(name, "")] for name in ACTIONS]
    return {"actions": actions, "kinds": KINDS_OF_BYTES, "view": "whole"}


def grown(before: Snapshot, after: Snapshot, device: int) -> list[tuple[str, int, int]]:
    """Bytes at the peak of each of two snapshots by call stack: all together, then the largest
    difference first.

    `device` is the later one's; where the earlier snapshot has only another, that is meant.
    """
    own = device if device in before.devices else _busiest(before)
    old, new = history(before, own), history(after, device)
    held = old.bytes_of_sites(old.peak), new.bytes_of_sites(new.peak)
    names = {**held[1], **held[0]}
    rows = [(name, held[0].get(name, 0), held[1].get(name, 0)) for name in names]
    every = "all together", sum(held[0].values()), sum(held[1].values())
    return [every, *sorted(rows, key=lambda row: -abs(row[2] - row[1]))]


def _busiest(snapshot: Snapshot) -> int:
    """The device of most events; of those without any, the one that holds most."""

    def weight(number: int) -> tuple[int, int]:
        return len(snapshot.trace(number)), sum(s.total_size for s in snapshot.segments(number))

    return max(snapshot.devices, key=weight)


class Lines:
    """The lines of stacks, each kept once: text, the whole place, whether it is the user's own."""

    def __init__(self) -> None:
        self.known: list[Line] = []
        self._place: dict[Line, int] = {}

    def of(self, stacks: Stacks) -> list[list[int]]:
        """For each stack the places of its lines, the innermost first."""
        return [[self._at(one) for one in _lines(stacks[n])] for n in range(len(stacks))]

    def _at(self, line: Line) -> int:
        place = self._place.setdefault(line, len(self.known))
        if place == len(self.known):
            self.known.append(line)
        return place


def _lines(stack: tuple[Frame, ...]) -> list[Line]:
    shown = [f for f in stack if f.is_python and f.name not in PASSING]
    lines = [(name, "", False) for name in reversed(native(stack))]
    lines += [(str(frame), f"{frame.filename}:{frame.line}", frame.is_own) for frame in shown]
    left_out = len(lines) - MOST_LINES
    if left_out > 0:
        lines[MOST_LINES:] = [(f"… and {left_out:,} more", "", False)]
    return lines or [(who(stack), "", False)]


def _device(
    of: History, found: list[Finding], columns: Columns, earlier_stacks: int
) -> dict[str, Any]:
    _require_possible(of.name, of)
    return {
        "number": of.trace.device,
        "label": str(of.trace.device),
        "events": len(of.trace),
        "peak": of.peak,
        "sentence": sentence(of),
        "findings": [_as_dict(one) for one in found],
        "byCategory": of.by_category,
        "groups": groups(of),
        "sites": of.site_names,
        "siteGroups": group_of_site(of).tolist(),
        "ooms": (of.trace.where("oom") + 1).tolist(),
        **_numbers(of, columns, earlier_stacks),
    }


def _require_possible(name: str, of: History) -> None:
    """Raises: SnapshotError for bytes that no machine has, whose sums would overflow, and for more
    segments and pages than a browser can draw.
    """
    sizes = (of.allocations.size, of.ranges.size, of.live, of.reserved)
    if any(len(n) and (n.max() > MOST_BYTES or n.min() < 0) for n in sizes):
        raise SnapshotError(f"{name} is refused: it has more bytes than any machine.")
    if len(of.ranges) > MOST_RANGES:
        raise SnapshotError(
            f"{name} is refused: it maps {len(of.ranges):,} pages, too many to show."
        )


def _as_dict(found: Finding) -> dict[str, Any]:
    where = {} if found.moment is None else {"moment": found.moment}
    return {"title": found.title, "says": found.says, "try": found.advice, **where}


def _numbers(of: History, columns: Columns, earlier_stacks: int) -> dict[str, Any]:
    trace, lives, early = of.trace, of.allocations, of.allocations.event < 0
    kinds = [f"stream {s}" + (f", private pool {p}" if any(p) else "") for s, p in _ranges(of)]
    known = {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
    streams, stream = np.unique(trace.stream, return_inverse=True)
    column = {
        "action": trace.action, "addr": trace.addr, "size": trace.size,
        "stack": trace.stack + earlier_stacks,
        "stream": stream, "passed": _passed(trace.time_us),
        "event": lives.event + 1, "death": lives.death, "site": of.sites,
        "slack": of.block_sizes - lives.size, "earlyAddress": lives.address[early],
        "earlySize": lives.size[early], "earlyStack": of.stacks[early] + earlier_stacks,
        "rangeAddress": of.ranges.address, "rangeSize": of.ranges.size,
        "rangeBirth": of.ranges.birth, "rangeDeath": of.ranges.death,
        "rangeKind": np.array([known[kind] for kind in kinds], np.int64),
    }  # fmt: skip
    return {
        "streams": streams.tolist(),
        "kinds": list(known),
        "firstPage": of.first_page,
        "columns": {name: columns.add(values) for name, values in column.items()},
    }


def _passed(time_us: Array) -> Array:
    """Microseconds from each event to the next, so that a clock needs few bytes; 0 without one."""
    return np.diff(time_us.clip(0, LATEST_US), prepend=time_us[:1].clip(0, LATEST_US)).clip(0)


def _ranges(of: History) -> list[tuple[int, tuple[int, int]]]:
    """The stream and the pool of each range that the driver gave."""
    trace, starts = of.trace, sorted(of.start.segments, key=lambda s: s.address)
    around = np.searchsorted([s.address for s in starts], of.ranges.address, side="right") - 1
    places = zip(of.ranges.event.tolist(), around.clip(0).tolist(), strict=True)
    return [
        (int(trace.stream[event]), trace.pools[trace.pool[event]])
        if event >= 0 else (starts[early].stream, starts[early].pool)
        for event, early in places
    ]  # fmt: skip


def sentence(of: History) -> str:
    """The peak, when it was, how much was reserved, and what held most of it."""
    peak, last = of.peak, of.moments - 1
    live, reserved = int(of.live[peak]), int(of.reserved[peak])
    times = of.trace.time_us
    passed = int(times[peak - 1]) - int(times[0]) if peak and times[0] else 0
    clock = f", {passed / 1e6:,.3f} s in" if passed > 0 else ""
    text = (
        f"At the peak, after event {peak:,} of {last:,}{clock}, {size_text(live)} were allocated "
        f"of {size_text(reserved)} reserved."
    )
    if live > reserved:
        text += " No allocator does that: the file contradicts itself."
    held = of.bytes_of_sites(peak)
    if not held:
        return text
    site, size = next(iter(held.items()))
    share = f"{size_text(size)} ({size / max(live, 1):.0%})"
    if site == BEFORE:
        said = f"{share}, was there before the trace and has no stack{_next(held)}"
        return f"{text} The largest part, {said}."
    if site == NO_STACK:
        return f"{text} The largest part, {share}, has no stack recorded."
    verb = "is" if of.by_category else "was asked for by"
    return f"{text} The largest part, {share}, {verb} {shortened(site, LONGEST_NAME)}."


def _next(held: dict[str, int]) -> str:
    """The call stack with most of the bytes that were not there before the trace."""
    known = [(site, size) for site, size in held.items() if site not in (BEFORE, NO_STACK)]
    if not known:
        return ""
    site, size = known[0]
    return f"; then {size_text(size)} was asked for by {shortened(site, LONGEST_NAME)}"
