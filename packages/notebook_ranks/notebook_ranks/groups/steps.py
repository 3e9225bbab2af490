"""Whether the ranks are in step: whether what each has called of its groups fits what others did.

Ranks that aren't would take each other's left-over results for new ones.
"""

from collections.abc import Mapping
from typing import Any

from notebook_ranks.groups import flight, torch_inside
from notebook_ranks.messages import Collective, Counts, GroupCount
from notebook_ranks.watch.report import names

FREED = "Every wait for another rank was ended."
BROKEN = "A group has failed."
ANEW = (
    "The next cell opens the group anew: make again what was made over the old one "
    "(DDP, FSDP, new_group, a device mesh)."
)


class Counter:
    """Counts what this rank has called of each of its groups.

    `recorded` is False where only a group's own count can be compared: NCCL's leaves messages out,
    and two recorders write about it; one that torch checks (DETAIL) has collectives of its own.
    """

    recorded = True

    def __init__(self) -> None:
        self._seen: Any = None
        self._calls: dict[str, tuple[int, str]] = {}

    def moved(self) -> bool:
        """Whether groups were made, ended or used since this was last asked."""
        live = torch_inside.groups()
        now = [(id(group), torch_inside.calls_of(group)) for _, _, group in live or ()]
        seen, self._seen = self._seen, (now, torch_inside.groups_made())
        return live is None or seen != self._seen

    @staticmethod
    def begun() -> int:
        """How many collectives and messages this rank has begun, in all of its groups."""
        return sum(torch_inside.calls_of(group) or 0 for _, _, group in torch_inside.groups() or ())

    def look(self, reader: flight.Reader) -> tuple[list[Collective], Counts | None]:
        """After a cell: the collectives that are new to the reader, and the counts."""
        records: list[Collective] = []
        if self.moved():  # reading a full recorder takes 13 ms
            held = flight.entries()
            records = reader.fresh(held)
            self.read(held)
        return records, self.counts()

    def read(self, held: list[flight.Record]) -> None:
        """Takes note of what the flight recorders hold."""
        for entry in held:
            if not entry["is_p2p"]:
                group, name = entry["process_group"][0], entry["profiling_name"]
                self._calls[group] = entry["collective_seq_id"], name.rpartition(":")[2]

    def counts(self) -> Counts | None:
        """What this rank has called of its groups; None where torch doesn't tell.

        Recorders keep collectives alone; a group counts messages too, so that what is left are
        messages (sent or received).
        """
        live = torch_inside.groups()
        if live is None:
            return None
        found = {}
        for name, ranks, group in live:
            count = torch_inside.calls_of(group)
            if count is None:
                return None
            calls, last = self._calls.get(name, (0, "")) if count else (0, "")
            if not self.recorded:
                calls, last = count, ""
            found[name] = GroupCount(ranks, calls, count - calls, last)
        return Counts(torch_inside.groups_made(), found)


ByRank = Mapping[int, Counts | None]


def astray(now: ByRank, before: ByRank, failed: bool) -> str:
    """Why the ranks are out of step, in words; "" where they are in step.

    After a failure, where it can't be known counts as out of step: torch didn't tell, or messages
    were sent, of which only the number is known. A cell that succeeded is believed.
    """
    told = {rank: counts for rank, counts in now.items() if counts is not None}
    if len(told) < len(now):
        return "Whether the ranks are in step can't be known." if failed else ""
    if len({counts.made for counts in told.values()}) > 1:
        return "The ranks are out of step: they have made different numbers of groups."
    for name in sorted({name for counts in told.values() for name in counts.groups}):
        held = {r: s.groups[name] for r, s in told.items() if name in s.groups}
        reason = _in_one_group(held, told) or (failed and _sent(name, held, before))
        if reason:
            return reason
    return ""


def _in_one_group(held: Mapping[int, GroupCount], all_of_them: Mapping[int, Counts]) -> str:
    """Why the ranks that hold one group are out of step in it, or ""."""
    lacking = {r for one in held.values() for r in one.ranks if r in all_of_them} - set(held)
    if lacking:
        return f"The ranks are out of step: {names(lacking)} ended a group that others still have."
    most, least = (pick(held, key=lambda rank: held[rank].calls) for pick in (max, min))
    more = held[most].calls - held[least].calls
    if more:
        calls = "1 collective" if more == 1 else f"{more} collectives"
        return f"The ranks are out of step: rank {most} called {calls} more than rank {least}."
    if len({one.last for one in held.values()}) > 1:
        return "The ranks are out of step: their last collectives differ."
    messages = [one.messages for one in held.values()]
    if sum(messages) % 2 or (len(messages) == 2 and messages[0] != messages[1]):
        return (
            "The ranks are out of step: a message was sent or awaited, and its other half wasn't."
        )
    return ""


def _sent(name: str, held: Mapping[int, GroupCount], before: ByRank) -> str:
    """A sentence where messages were sent in this cell."""
    for rank, one in held.items():
        earlier = before.get(rank)
        known = earlier.groups.get(name) if earlier else None
        if (known.messages if known else 0) != one.messages:
            return "Messages were sent, and whether all of them arrived can't be known."
    return ""
