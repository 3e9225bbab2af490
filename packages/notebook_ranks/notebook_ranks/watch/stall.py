"""Whether ranks that don't finish are slow or stuck, and whether anything moves: by samples.

Stuck is a closed set: every unfinished rank has waited at one place for a while, no thread of any
rank may still act, and nothing that is waited for could come of itself. All else is slow.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace

from notebook_ranks.messages import Place, State
from notebook_ranks.watch.supply import Supply, gives_up

# How long all unfinished ranks must have waited together, by what the patient ones wait for.
PATIENCE_SECONDS = {"call": 3.0, "device": 6.0, "set-up": 3.0}
# The same once a rank has failed: who would come now?
HURRY_SECONDS = {"call": 0.6, "device": 2.0, "set-up": 2.0}
BUSY_SHARE = 0.05  # of a processor: who waits in a call uses less (for a device, one may spin)
# A cell without a limit of its own is stopped after so long without a sign: where all ranks wait
# for others, and where one does something of its own (it sleeps, or a server takes its time).
STILL_SECONDS = 30.0
ALONE_SECONDS = 600.0


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
