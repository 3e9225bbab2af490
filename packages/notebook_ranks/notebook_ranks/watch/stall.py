"""Decides from samples whether ranks that don't finish are slow or stuck.

Stuck is a closed set: every unfinished rank has waited at one place for a while, no thread of any
rank may still act, and nothing that is waited for could come of itself: no other rank has sent,
joined or set it already (`Supply`). All else is slow.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from notebook_ranks.messages import Call, Collective, Need, Place, State
from notebook_ranks.watch import agreement
from notebook_ranks.watch.agreement import agreed

# How long all unfinished ranks must have waited together, by what the patient ones wait for.
PATIENCE_SECONDS = {"call": 3.0, "device": 6.0, "set-up": 3.0}
# The same once a rank has failed: nobody else is likely to come.
HURRY_SECONDS = {"call": 0.6, "device": 2.0, "set-up": 2.0}
BUSY_SHARE = 0.05  # of a CPU core; waiting in a call uses less (for a device, it may spin)
# A cell without a limit of its own is stopped after so long without a sign: where all ranks wait
# for others, and where one does something of its own (it sleeps, or a server takes its time).
STILL_SECONDS = 30.0
ALONE_SECONDS = 600.0
PATIENT_SECONDS = 60.0  # a wait that gives up of itself before that is left to give up


@dataclass
class Watch:
    """Samples of one cell; times in seconds of one clock. `limit` is what the cell may take."""

    started: float
    limit: float = 30.0
    places: dict[int, Place] = field(default_factory=dict)
    ended: dict[int, State | None] = field(default_factory=dict)  # what it did; None: dead
    _moved: float = 0.0  # when a rank last ended
    _since: dict[int, tuple[float, float]] = field(default_factory=dict)  # time, cpu seconds
    seen: dict[int, float] = field(default_factory=dict)  # when each rank last answered

    def add(self, rank: int, place: Place, now: float) -> None:
        """A rank says where it is and how many processor seconds it has used."""
        before = self.places.get(rank)
        self.places[rank], self.seen[rank] = place, now
        since, cpu = self._since.get(rank, (now, place.cpu))
        spins = place.wait == "call" and place.cpu - cpu > BUSY_SHARE * max(now - since, 0.5)
        if before is None or before.mark != place.mark or not place.wait or spins:
            self._since[rank] = (now, place.cpu)

    def freeze(self, rank: int) -> None:
        """A rank was stopped by a signal: what it says when it goes on is new."""
        self.places[rank] = replace(self.places.get(rank, Place()), frozen=True, mark=None)

    def end(self, rank: int, state: State | None, now: float) -> None:
        """A rank finished, or died: ranks that waited for it may go on from here."""
        self.ended[rank], self._moved = state, now

    def stuck(self, unfinished: set[int], failed: bool) -> bool:
        """Whether all unfinished ranks wait for something that will never come."""
        return bool(unfinished) and not self.doubts(unfinished, failed)

    def doubts(self, unfinished: set[int], failed: bool = False) -> list[str]:
        """Why ranks that don't finish aren't called stuck, in words; nothing where they are."""
        found = [word for rank in sorted(unfinished) if (word := self._active(rank))]
        if found or not self._long_enough(unfinished, failed):
            return found or ["they have waited for a moment only"]
        waiting = {rank: self.places[rank] for rank in unfinished}
        return self._threads() or Supply(waiting, self.ended, self.limit).hopes()

    def rests(self, unfinished: set[int]) -> bool:
        """Whether all unfinished ranks wait for others, and none does anything by itself.

        A rank that sleeps, reads a socket or waits for a program does, or whose wait soon gives up.
        """
        if any(self._active(rank) for rank in unfinished) or self._threads():
            return False
        needs = [need for rank in unfinished for need in self.places[rank].needs]
        return not any(gives_up(need, self.limit) for need in needs)

    def _threads(self) -> list[str]:
        return [
            f"a thread of rank {rank} may act: {name}"
            for rank, seen in sorted({**self.places, **self.ended}.items())
            for name in (seen.acting if seen else [])
        ]

    def _active(self, rank: int) -> str:
        place = self.places.get(rank, Place())
        if place.frozen:
            return f"rank {rank} was stopped by a signal, and may be continued"
        return "" if place.wait else f"rank {rank} works"

    def _long_enough(self, ranks: set[int], failed: bool) -> bool:
        """Whether all have been seen to wait, each at one place, through one stretch of time."""
        seconds = HURRY_SECONDS if failed else PATIENCE_SECONDS
        patience = max(seconds[self.places[rank].wait or "call"] for rank in ranks)
        begun = max(self._moved, *(self._since[rank][0] for rank in ranks))
        return min(self.seen[rank] for rank in ranks) - begun >= patience


class Pulse:
    """The last sign of life: output, an end, another place, a collective, or processor time."""

    def __init__(self, now: float) -> None:
        self._last = now
        self._before: dict[int, tuple[float, Place]] = {}

    def beat(self, now: float) -> None:
        """A sign that needs no comparison: a rank printed or finished."""
        self._last = now

    def sample(self, rank: int, place: Place, now: float) -> None:
        """A rank says where it is, and how much it and its children have used of a processor."""
        when, before = self._before.get(rank, (now, place))
        self._before[rank] = now, place
        moved = (place.mark, place.begun) != (before.mark, before.begun)
        if moved or place.used - before.used > BUSY_SHARE * max(now - when, 0.1):
            self._last = now

    def still(self, now: float) -> float:
        """For how many seconds nothing has moved on any rank."""
        return now - self._last


def gives_up(need: Need, limit: float) -> bool:
    """Whether a wait ends of itself soon, and within the seconds that the cell has."""
    return 0 < need.seconds <= min(limit, PATIENT_SECONDS)


@dataclass
class Supply:
    """Judges needs of ranks none of which can act: what could still come to ranks that all wait.

    `waiting` are samples of ranks (see `groups.waits`), `ended` what finished ranks had done, None
    for dead ones. Ranks are the notebook's; a sample names others by their number in its default
    group.
    """

    waiting: dict[int, Place]
    ended: dict[int, State | None]
    limit: float

    def __post_init__(self) -> None:
        self.states: dict[int, State] = {}  # by the number in the default group
        self.needs: dict[int, list[Need]] = {}
        self.alive: set[int] = set()
        self.doubled = False
        waiting = {rank: place.state or State() for rank, place in self.waiting.items()}
        for rank, state in {**self.ended, **waiting}.items():
            me = state.me if state else None
            self.doubled |= me in self.states
            number = rank if me is None else me
            self.states[number] = state or State()
            self.alive |= {number} if state else set()
            self.needs[number] = self.waiting[rank].needs if rank in self.waiting else []

    def hopes(self) -> list[str]:
        """Why a need may still be met though nobody acts, for each that may."""
        if self.doubled:
            return ["several default groups are there"]
        found = {
            f"rank {rank} {hope}": None
            for rank, place in sorted(self.waiting.items())
            for need in place.needs
            if (hope := self._hope(need, _number(rank, place.state)))
        }
        return [*found]

    def _hope(self, need: Need, me: int) -> str:
        if gives_up(need, self.limit):
            return f"gives up of itself after {need.seconds:g} s"
        if set(need.ranks) - set(self.states):
            return "waits for ranks that aren't of this notebook"
        if need.kind == "collective" and need.collective:
            return self._collective(need, need.collective)
        if need.kind == "call":
            return self._call(need)
        if need.kind == "key":
            return self._key()
        return {"recv": self._recv, "send": self._send, "set-up": self._set_up}[need.kind](need, me)

    def _collective(self, need: Need, one: Collective) -> str:
        members = {m: self.states[m] for m in need.ranks if m in self.alive}
        told = [r for m in need.ranks for r in self.states[m].history]
        together = all(self.states[m].joined.get(one.group, 0) >= one.seq for m in need.ranks)
        same = all(
            agreed(r) == agreed(one) for r in told if (r.group, r.seq) == (one.group, one.seq)
        )
        same = same and not agreement.never_ends(members, one.group, one.seq)
        return f"is in one {one.name} with all of its group" if together and same else ""

    def _call(self, need: Need) -> str:
        key = need.group, need.number
        made: list[Call] = [call for member in need.ranks for call in self.states[member].calls]
        together = all(self.states[m].made.get(need.group, 0) >= need.number for m in need.ranks)
        same = all(c.name == need.name for c in made if (c.group, c.number) == key)
        return f"is in one {need.name} with all of its group" if together and same else ""

    def _recv(self, need: Need, me: int) -> str:
        if need.peer is not None:
            sent = self._messages(need, [need.peer], "send", {me})
        else:
            own = self._messages(need, [me], "recv", set(need.ranks))
            sent = self._messages(need, need.ranks, "send", {me}) - own
        return "receives what was sent" if sent >= need.number else ""

    def _send(self, need: Need, me: int) -> str:
        peers = [] if need.peer is None else [need.peer]  # None: its group is gone
        taken = self._messages(need, peers, "recv", {me, None})
        return "sends what is received" if taken >= need.number else ""

    def _set_up(self, need: Need, _me: int) -> str:
        known = {member: self._known_as(member, need.group) for member in self.states}
        # Where another's default group is an earlier one, its group of that name was another, too.
        late = any(self.states[m].opened < need.opened for m in need.ranks if m in self.alive)
        there = not late and all(need.ranks in known[m] for m in need.ranks)
        there = there and all(ranks == need.ranks for made in known.values() for ranks in made)
        return "sets up a group with all of its ranks" if there else ""

    def _key(self) -> str:
        others = any(need.children for place in self.waiting.values() for need in place.needs)
        return "waits for a key that a process which it started may set" if others else ""

    def _known_as(self, member: int, group: str) -> list[list[int]]:
        """The members of a group of that name that a rank is in, or sets up."""
        now = [n.ranks for n in self.needs[member] if (n.kind, n.group) == ("set-up", group)]
        there = [ranks for name, ranks in self.states[member].groups.items() if name == group]
        return [*now, *there]

    def _messages(
        self, need: Need, members: Iterable[int], kind: str, peers: set[int | None]
    ) -> int:
        """Counts messages of the need's group and tag that these members began with the peers."""
        return sum(
            one.count
            for member in members
            for one in self.states[member].messages
            if (one.group, one.kind) == (need.group, kind) and one.peer in peers
            if need.tag in (None, one.tag)
        )


def _number(rank: int, state: State | None) -> int:
    """A rank's number in its default group."""
    return rank if state is None or state.me is None else state.me
