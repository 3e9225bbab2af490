"""Whether ranks that don't finish are slow or stuck: a judgement on samples of where they are."""

from dataclasses import dataclass, field
from typing import Any

PATIENCE_SECONDS = 3.0  # how long every unfinished rank must have waited at one place
HURRY_SECONDS = 0.6  # the same once a rank has failed: who would come now?
BUSY_SHARE = 0.02  # of a processor: who waits in a collective uses less
Place = dict[str, Any]


@dataclass
class Watch:
    """Samples of one cell; times in seconds of one clock."""

    started: float
    places: dict[int, Place] = field(default_factory=dict)
    _since: dict[int, tuple[float, float]] = field(default_factory=dict)  # time, cpu seconds

    def add(self, rank: int, place: Place, now: float) -> None:
        """A rank says where it is and how many processor seconds it has used."""
        before = self.places.get(rank)
        self.places[rank] = place
        since, cpu = self._since.get(rank, (now, place["cpu"]))
        used = place["cpu"] - cpu
        moved = before is None or before["mark"] != place["mark"]
        if moved or not place["call"] or used > BUSY_SHARE * max(now - since, 0.5):
            self._since[rank] = (now, place["cpu"])

    def progress(self, now: float) -> None:
        """A rank finished: those who waited for it may go on from here."""
        self._since = {r: (now, self.places[r]["cpu"]) for r in self._since}

    def waiting(self, rank: int, now: float, patience: float) -> bool:
        """Whether the rank has waited in one collective for that long, using no processor."""
        place = self.places.get(rank)
        if place is None or not place["call"]:
            return False
        return now - self._since[rank][0] >= patience

    def stuck(self, unfinished: set[int], now: float, failed: bool) -> bool:
        """Whether all who haven't finished wait for someone who will never come."""
        patience = HURRY_SECONDS if failed else PATIENCE_SECONDS
        return bool(unfinished) and all(self.waiting(r, now, patience) for r in unfinished)
