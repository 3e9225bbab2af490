"""Whether the ranks are in step: whether what each has called of its groups fits what others did.

Ranks that aren't would take each other's left-over results for new ones.
"""

import collections
from collections.abc import Mapping
from typing import Any

from notebook_ranks.groups import flight, notes, torch_inside
from notebook_ranks.messages import Collective, Counts, GroupCount
from notebook_ranks.watch.report import names

FREED = "Every wait for another rank was ended."
BROKEN = "A group has failed."
ANEW = (
    "The next cell opens the group anew: make again what was made over the old one "
    "(DDP, FSDP, new_group, a device mesh)."
)


class Counter:
    """Counts what this rank has called of each of its groups."""

    def __init__(self) -> None:
        self._seen: Any = None
        self._newest = -1  # the time of the newest entry of the flight recorder that was read

    @staticmethod
    def begun() -> int:
        """Counts the collectives and messages that this rank has begun, in all of its groups."""
        return sum(torch_inside.calls_of(group) or 0 for _, _, group in torch_inside.groups())

    def look(self, counts_messages: bool) -> tuple[list[Collective], Counts | None]:
        """After a cell: the collectives that are new in the flight recorder, and the counts.

        `counts_messages`: gloo's count of a group's calls includes messages, NCCL's does not.
        """
        counts = _counts(counts_messages)
        seen, self._seen = self._seen, ([id(g) for _, _, g in torch_inside.groups()], counts)
        if counts is not None and seen == self._seen:
            return [], counts  # nothing was called: reading a full recorder takes 13 ms
        held = [e for e in flight.entries() if e["time_created_ns"] > self._newest]
        self._newest = max([self._newest, *(e["time_created_ns"] for e in held)])
        return [flight.collective(e) for e in held if not e["is_p2p"]], counts


def _counts(counts_messages: bool) -> Counts | None:
    """Counts what this rank has called of its groups; None where torch doesn't say."""
    found = {}
    for name, ranks, group in torch_inside.groups():
        calls, kept_by = torch_inside.calls_of(group), notes.ledger(group)
        if calls is None:
            return None
        messages = notes.messages(kept_by)
        calls -= sum(one.count for one in messages) if counts_messages else 0
        last = kept_by.calls[-1][1] if kept_by.calls else ""
        found[name] = GroupCount(ranks, calls, messages, last)
    return Counts(torch_inside.groups_made(), found)


def astray(counts: Mapping[int, Counts | None], failed: bool) -> str:
    """Why the ranks are out of step, in words; "" where they are in step.

    Where torch doesn't say, ranks that failed are taken to be out of step; a cell that succeeded
    is believed.
    """
    told = {rank: one for rank, one in counts.items() if one is not None}
    if len(told) < len(counts):
        return "Whether the ranks are in step can't be known." if failed else ""
    if len({one.made for one in told.values()}) > 1:
        return "The ranks are out of step: they have made different numbers of groups."
    for name in sorted({name for one in told.values() for name in one.groups}):
        held = {r: one.groups[name] for r, one in told.items() if name in one.groups}
        if reason := _in_one_group(held, set(told)):
            return f"The ranks are out of step: {reason}."
    return ""


def _in_one_group(held: Mapping[int, GroupCount], ranks: set[int]) -> str:
    """Why the ranks that hold one group are out of step in it, or ""."""
    lacking = ({r for one in held.values() for r in one.ranks} & ranks) - set(held)
    if lacking:
        return f"{names(lacking)} ended a group that others still have"
    most, least = (pick(held, key=lambda rank: held[rank].calls) for pick in (max, min))
    more = held[most].calls - held[least].calls
    if more:
        calls = "1 collective" if more == 1 else f"{more} collectives"
        return f"rank {most} called {calls} more than rank {least}"
    if len({one.last for one in held.values()}) > 1:
        return "their last collectives differ"
    if not _all_arrive(held):
        return "a message was sent or awaited, and its other half wasn't"
    return ""


def _all_arrive(held: Mapping[int, GroupCount]) -> bool:
    """Whether each message that a rank sent is received, and each awaited one was sent."""
    left: dict[tuple[int | None, int], collections.Counter[int | None]] = collections.defaultdict(
        collections.Counter
    )  # by receiver and tag, how many messages of each sender are left; None: from any rank
    for me, count in held.items():
        for one in count.messages:
            if one.kind == "send":
                left[one.peer, one.tag][me] += one.count
            else:
                left[me, one.tag][one.peer] -= one.count
    return all(
        senders.total() == 0 and all(n >= 0 for sender, n in senders.items() if sender is not None)
        for senders in left.values()
    )
