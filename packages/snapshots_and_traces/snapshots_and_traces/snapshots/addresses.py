"""Addresses in order, of which a million can come and go: a list in pieces.

One list is moved in memory by each insertion; here only a piece of it is.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import chain

WIDEST = 2000


class Addresses:
    """Different numbers of 0 and more. Each operation takes microseconds, however many there are.

    All numbers of a piece are at least its place in `lows` and below the next.
    """

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        ordered = sorted(numbers)
        starts = range(0, max(len(ordered), 1), WIDEST // 2)
        self.pieces = [ordered[start : start + WIDEST // 2] for start in starts]
        self.lows = [0, *(piece[0] for piece in self.pieces[1:])]

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.pieces)

    def add(self, number: int) -> None:
        """Adds a number that isn't there."""
        at = bisect_right(self.lows, number) - 1
        piece = self.pieces[at]
        insort(piece, number)
        if len(piece) > WIDEST:
            self.pieces[at : at + 1] = [piece[: WIDEST // 2], piece[WIDEST // 2 :]]
            self.lows.insert(at + 1, piece[WIDEST // 2])

    def remove(self, number: int) -> None:
        """Takes out a number that is there."""
        at = bisect_right(self.lows, number) - 1
        piece = self.pieces[at]
        del piece[bisect_left(piece, number)]
        if not piece and len(self.pieces) > 1:
            del self.pieces[at], self.lows[at]
            self.lows[0] = 0

    def up_to(self, number: int) -> int | None:
        """The largest that isn't above a number."""
        at = bisect_right(self.lows, number) - 1
        if at < 0:
            return None
        place = bisect_right(self.pieces[at], number)
        if place:
            return self.pieces[at][place - 1]
        return self.pieces[at - 1][-1] if at and self.pieces[at - 1] else None

    def after(self, number: int) -> int | None:
        """The smallest above a number."""
        at = max(bisect_right(self.lows, number) - 1, 0)
        place = bisect_right(self.pieces[at], number)
        if place < len(self.pieces[at]):
            return self.pieces[at][place]
        return self.pieces[at + 1][0] if at + 1 < len(self.pieces) else None
