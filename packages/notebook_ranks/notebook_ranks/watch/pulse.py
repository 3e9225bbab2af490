"""Whether anything moves on the ranks: how long a cell has stood still, by samples of it."""

from typing import Any

# A cell without a limit of its own is stopped after so long without a sign: where all ranks wait
# for others, and where one does something of its own (it sleeps, or a server takes its time).
STILL_SECONDS = 30.0
ALONE_SECONDS = 600.0
BUSY_SHARE = 0.05  # of a processor; answering where it is costs an idle rank under 0.01
SIGNS = ("mark", "begun")  # a sample's place in the code, and what it has called of its groups


class Pulse:
    """The last sign of life: output, an end, another place, a collective, or processor time."""

    def __init__(self, now: float) -> None:
        self._last = now
        self._before: dict[int, tuple[float, dict[str, Any]]] = {}

    def beat(self, now: float) -> None:
        """A sign that needs no comparison: a rank printed or finished."""
        self._last = now

    def sample(self, rank: int, place: dict[str, Any], now: float) -> None:
        """A rank says where it is, and how much it and its children have used of a processor."""
        when, before = self._before.get(rank, (now, place))
        self._before[rank] = now, place
        used = place.get("used", 0.0) - before.get("used", 0.0)
        moved = any(place.get(sign) != before.get(sign) for sign in SIGNS)
        if moved or used > BUSY_SHARE * max(now - when, 0.1):
            self._last = now

    def still(self, now: float) -> float:
        """For how many seconds nothing has moved on any rank."""
        return now - self._last
