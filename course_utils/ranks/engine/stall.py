"""Whether ranks that don't finish are slow or stuck: a judgement on samples of where they are."""

from dataclasses import dataclass, field
from typing import Any

# How long every unfinished rank must have waited at one place, by what it waits for.
PATIENCE_SECONDS = {"call": 3.0, "device": 6.0, "set-up": 10.0}
# The same once a rank has failed: who would come now?
HURRY_SECONDS = {"call": 0.6, "device": 2.0, "set-up": 5.0}
BUSY_SHARE = 0.02  # of a processor: who waits in a call uses less (for a device, one may spin)
Place = dict[str, Any]


@dataclass
class Watch:
    """Samples of one cell; times in seconds of one clock."""

    started: float
    places: dict[int, Place] = field(default_factory=dict)
    ended: int = 0  # ranks that finished, or are gone
    _since: dict[int, tuple[float, float]] = field(default_factory=dict)  # time, cpu seconds

    def add(self, rank: int, place: Place, now: float) -> None:
        """A rank says where it is and how many processor seconds it has used."""
        before = self.places.get(rank)
        self.places[rank] = place
        since, cpu = self._since.get(rank, (now, place["cpu"]))
        used = place["cpu"] - cpu
        busy = place["wait"] == "call" and used > BUSY_SHARE * max(now - since, 0.5)
        if before is None or before.get("mark") != place["mark"] or not place["wait"] or busy:
            self._since[rank] = (now, place["cpu"])

    def progress(self, now: float) -> None:
        """A rank finished: those who waited for it may go on from here."""
        self.ended += 1
        self._since = {r: (now, self.places[r]["cpu"]) for r in self._since}

    def waiting(self, rank: int, now: float, patience: dict[str, float]) -> bool:
        """Whether the rank has waited for one thing for that long."""
        wait = self.places.get(rank, {}).get("wait") or ""
        return wait in patience and now - self._since[rank][0] >= patience[wait]

    def stuck(self, unfinished: set[int], now: float, failed: bool) -> bool:
        """Whether all who haven't finished wait for someone who will never come."""
        patience = HURRY_SECONDS if failed else PATIENCE_SECONDS
        if not unfinished or not all(self.waiting(r, now, patience) for r in unfinished):
            return False
        return bool(self.ended) or not self._slow_together(unfinished)

    def _slow_together(self, ranks: set[int]) -> bool:
        """Whether all are in the same work of their devices, or set up the same: slow, not stuck.

        Only `wait`s other than "call" are given the benefit: what they wait for uses no Python.
        """
        doing = [
            (p["wait"], p["pending"], not p["pending"] and (p["call"], p["tensors"]))
            for p in (self.places[r] for r in ranks)
        ]
        return doing[0][0] != "call" and all(one == doing[0] for one in doing)
