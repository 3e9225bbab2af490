"""Whether ranks that don't finish are slow or stuck: a judgement on samples of where they are.

Stuck is a closed set: every unfinished rank has waited at one place for a while, no thread of any
rank may still act, and nothing that is waited for could come of itself. All else is slow.
"""

from dataclasses import dataclass, field
from typing import Any

from notebook_ranks.watch.supply import Supply, gives_up

# How long all unfinished ranks must have waited together, by what the patient ones wait for.
PATIENCE_SECONDS = {"call": 3.0, "device": 6.0, "set-up": 3.0}
# The same once a rank has failed: who would come now?
HURRY_SECONDS = {"call": 0.6, "device": 2.0, "set-up": 2.0}
BUSY_SHARE = 0.05  # of a processor: who waits in a call uses less (for a device, one may spin)
Place = dict[str, Any]


@dataclass
class Watch:
    """Samples of one cell; times in seconds of one clock. `limit` is what the cell may take."""

    started: float
    limit: float = 30.0
    places: dict[int, Place] = field(default_factory=dict)
    ended: dict[int, Place | None] = field(default_factory=dict)  # finished: as it was; None: dead
    _moved: float = 0.0  # when a rank last ended
    _since: dict[int, tuple[float, float]] = field(default_factory=dict)  # time, cpu seconds
    _seen: dict[int, float] = field(default_factory=dict)

    def add(self, rank: int, place: Place, now: float) -> None:
        """A rank says where it is and how many processor seconds it has used."""
        before = self.places.get(rank)
        self.places[rank], self._seen[rank] = place, now
        since, cpu = self._since.get(rank, (now, place["cpu"]))
        used = place["cpu"] - cpu
        spins = place["wait"] == "call" and used > BUSY_SHARE * max(now - since, 0.5)
        if before is None or before.get("mark") != place["mark"] or not place["wait"] or spins:
            self._since[rank] = (now, place["cpu"])

    def freeze(self, rank: int) -> None:
        """A rank was stopped by a signal: what it says when it goes on is new."""
        before = self.places.get(rank, {"wait": None, "cpu": 0.0})
        self.places[rank] = {**before, "frozen": True, "mark": None}

    def end(self, rank: int, state: Place | None, now: float) -> None:
        """A rank finished, or died: those who waited for it may go on from here."""
        self.ended[rank], self._moved = state, now

    def stuck(self, unfinished: set[int], failed: bool) -> bool:
        """Whether all who haven't finished wait for someone who will never come."""
        return bool(unfinished) and not self.doubts(unfinished, failed)

    def doubts(self, unfinished: set[int], failed: bool = False) -> list[str]:
        """Why ranks that don't finish aren't called stuck, in words; nothing where they are."""
        found = [word for rank in sorted(unfinished) if (word := self._active(rank))]
        if found or not self._long_enough(unfinished, failed):
            return found or ["they have waited for a moment only"]
        waiting = {rank: self.places[rank] for rank in unfinished}
        return self._threads() or Supply(waiting, self.ended, self.limit).hopes()

    def rests(self, unfinished: set[int]) -> bool:
        """Whether all who haven't finished wait for others, and nobody does anything of its own.

        Who sleeps, reads a socket or waits for a program does, as does a wait that soon gives up.
        """
        if any(self._active(rank) for rank in unfinished) or self._threads():
            return False
        needs = [need for rank in unfinished for need in self.places[rank]["needs"]]
        return not any(gives_up(need, self.limit) for need in needs)

    def _threads(self) -> list[str]:
        return [
            f"a thread of rank {rank} may act: {name}"
            for rank, state in sorted({**self.places, **self.ended}.items())
            for name in (state or {}).get("acting", [])
        ]

    def _active(self, rank: int) -> str:
        place = self.places.get(rank, {})
        if place.get("frozen"):
            return f"rank {rank} was stopped by a signal, and may be continued"
        return "" if place.get("wait") else f"rank {rank} works"

    def _long_enough(self, ranks: set[int], failed: bool) -> bool:
        """Whether all have been seen to wait, each at one place, through one stretch of time."""
        seconds = HURRY_SECONDS if failed else PATIENCE_SECONDS
        patience = max(seconds[self.places[rank]["wait"]] for rank in ranks)
        begun = max(self._moved, *(self._since[rank][0] for rank in ranks))
        return min(self._seen[rank] for rank in ranks) - begun >= patience
