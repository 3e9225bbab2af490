"""What could still come to ranks that all wait: what others have sent, joined or set already.

`waiting` are samples of ranks (see `waits`), `ended` what finished ranks had done, None for dead
ones. Ranks are the notebook's; a sample names others as its default group numbers them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from notebook_ranks.watch import agreement
from notebook_ranks.watch.agreement import agreed

PATIENT_SECONDS = 60.0  # a wait that gives up of itself before that is left to give up
State = dict[str, Any]
Need = dict[str, Any]


def gives_up(need: Need, limit: float) -> bool:
    """Whether a wait ends of itself soon, and within the seconds that the cell has."""
    return 0 < need.get("seconds", 0) <= min(limit, PATIENT_SECONDS)


@dataclass
class Supply:
    """Judges needs of ranks none of which can act."""

    waiting: dict[int, State]
    ended: dict[int, State | None]
    limit: float

    def __post_init__(self) -> None:
        self.states: dict[int, State] = {}  # by the number in the default group
        self.doubled = False
        for rank, state in {**self.ended, **self.waiting}.items():
            me = (state or {}).get("me")
            self.doubled |= me in self.states
            self.states[rank if me is None else me] = state or {}

    def hopes(self) -> list[str]:
        """Why a need may still be met though nobody acts, for each that may."""
        if self.doubled:
            return ["several default groups are there"]
        found = {
            f"rank {rank} {hope}": None
            for rank, place in sorted(self.waiting.items())
            for need in place["needs"]
            if (hope := self._hope(need, place.get("me", rank)))
        }
        return [*found]

    def _hope(self, need: Need, me: int) -> str:
        if gives_up(need, self.limit):
            return f"gives up of itself after {need['seconds']:g} s"
        if set(need.get("ranks", [])) - set(self.states):
            return "waits for ranks that aren't of this notebook"
        return str(getattr(self, f"_{need['kind'].replace('-', '_')}")(need, me))

    def _collective(self, need: Need, _me: int) -> str:
        group, seq = need["group"], need["seq"]
        members = {m: self.states[m] for m in need["ranks"] if self.states[m]}
        told = [r for r in self._histories(need["ranks"]) if (r["group"], r["seq"]) == (group, seq)]
        together = all(self._count(m, "joined", group) >= seq for m in need["ranks"])
        same = all(agreed(record) == agreed(need) for record in told)
        same = same and not agreement.never_ends(members, group, seq)
        return f"is in one {need['name']} with all of its group" if together and same else ""

    def _call(self, need: Need, _me: int) -> str:
        key = need["group"], need["number"]
        made = [call for member in need["ranks"] for call in self._list(member, "calls")]
        together = all(self._count(m, "made", key[0]) >= key[1] for m in need["ranks"])
        same = all(c["name"] == need["name"] for c in made if (c["group"], c["number"]) == key)
        return f"is in one {need['name']} with all of its group" if together and same else ""

    def _recv(self, need: Need, me: int) -> str:
        if need["peer"] is not None:
            sent = self._messages(need, [need["peer"]], "send", {me})
        else:
            own = self._messages(need, [me], "recv", set(need["ranks"]))
            sent = self._messages(need, need["ranks"], "send", {me}) - own
        return "receives what was sent" if sent >= need["number"] else ""

    def _send(self, need: Need, me: int) -> str:
        taken = self._messages(need, [need["peer"]], "recv", {me, None})
        return "sends what is received" if taken >= need["number"] else ""

    def _set_up(self, need: Need, _me: int) -> str:
        known = {m: self._known_as(state, need["group"]) for m, state in self.states.items()}
        begun = need.get("opened", 0)  # before, the others' group of that name was another one
        late = any(self.states[m].get("opened", begun) < begun for m in need["ranks"])
        there = not late and all(need["ranks"] in known[m] for m in need["ranks"])
        there = there and all(ranks == need["ranks"] for made in known.values() for ranks in made)
        return "sets up a group with all of its ranks" if there else ""

    def _key(self, _need: Need, _me: int) -> str:
        needs = [need for place in self.waiting.values() for need in place["needs"]]
        others = any(need.get("children") for need in needs)
        return "waits for a key that a process which it started may set" if others else ""

    @staticmethod
    def _known_as(state: State, group: str) -> list[Any]:
        """The members of a group of that name that a rank is in, or sets up."""
        now = [n for n in state.get("needs", []) if n["kind"] == "set-up" and n["group"] == group]
        there = [ranks for name, ranks in state.get("groups", {}).items() if name == group]
        return [*(need["ranks"] for need in now), *there]

    def _count(self, member: int, what: str, group: str) -> int:
        return int(self.states[member].get(what, {}).get(group, 0))

    def _list(self, member: int, what: str) -> list[Any]:
        return list(self.states[member].get(what, []))

    def _histories(self, members: Iterable[int]) -> list[Any]:
        return [record for member in members for record in self._list(member, "history")]

    def _messages(
        self, need: Need, members: Iterable[int], kind: str, peers: set[int | None]
    ) -> int:
        """How many messages of the need's group and tag these members have begun with the peers."""
        return sum(
            count
            for member in members
            for group, its_kind, peer, tag, count in self._list(member, "messages")
            if (group, its_kind) == (need["group"], kind) and peer in peers
            if need["tag"] in (None, tag)
        )
