"""The mapped pages of expandable segments: which came and went together."""

import numpy as np

from snapshots_and_traces.snapshots.addresses import Addresses


class Pages:
    """What is mapped, in pieces: each as large as the pages that came and went together."""

    def __init__(self) -> None:
        self.mapped: dict[int, tuple[int, int]] = {}  # by where it begins: its end, its event
        self.starts = Addresses()
        self.gone: list[tuple[int, int, int, int]] = []

    def map(self, address: int, end: int, event: int) -> None:
        """Adds a piece, where nothing is mapped."""
        if end > address:
            self.mapped[address] = end, event
            self.starts.add(address)

    def unmap(self, address: int, end: int, event: int) -> None:
        """Ends what is mapped in a range; what lies outside of it goes on."""
        last = self.starts.up_to(end - 1)
        while last is not None and self.mapped[last][0] > address:
            stop, begun = self.mapped.pop(last)
            self.starts.remove(last)
            low, high = max(last, address), min(stop, end)
            self.gone.append((low, high - low, begun, event))
            self.map(last, low, begun)
            self.map(high, stop, begun)
            last = self.starts.up_to(low - 1) if low > address else None

    def rows(self, events: int) -> np.ndarray:
        """Address, size, and the events that began and ended each piece, by its beginning; shape
        (4, pieces). What is still mapped ends after all `events`.
        """
        rest = [(at, end - at, event, events) for at, (end, event) in self.mapped.items()]
        rows = np.array([*self.gone, *rest], np.int64).reshape(-1, 4)
        return rows[np.argsort(rows[:, 2], kind="stable")].T
