"""What could still come to ranks that all wait: what others have sent, joined or set already.

`waiting` are samples of ranks (see `waits`), `ended` what finished ranks had done, None for dead
ones. Ranks are the notebook's; a sample names others as its default group numbers them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from notebook_ranks.messages import Call, Collective, Need, Place, State
from notebook_ranks.watch import agreement
from notebook_ranks.watch.agreement import agreed

PATIENT_SECONDS = 60.0  # a wait that gives up of itself before that is left to give up


def gives_up(need: Need, limit: float) -> bool:
    """Whether a wait ends of itself soon, and within the seconds that the cell has."""
    return 0 < need.seconds <= min(limit, PATIENT_SECONDS)


@dataclass
class Supply:
    """Judges needs of ranks none of which can act."""

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
        """How many messages of the need's group and tag these members have begun with the peers."""
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
