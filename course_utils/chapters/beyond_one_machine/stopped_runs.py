"""A run that is stopped now and then, piece by piece, and what it keeps in the long run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Piece:
    """A part of a run from `start` to `end`, seconds since the run's start.

    `kind` is "kept" or "lost" for computing that a complete save follows or doesn't, "saving", or
    "restarting".
    """

    kind: str
    start: float
    end: float


def pieces(
    stops: Sequence[float],
    length: float,
    interval: float,
    save_seconds: float,
    restart_seconds: float,
) -> list[Piece]:
    """Everything that a run does until `length`, in order; all times in seconds.

    It computes for `interval`, saves, and computes again. At a stop it restarts; a stop during a
    restart begins that anew. A save is complete if it ends by the next stop, or by `length`.
    """
    found: list[Piece] = []
    ends = [0, *(stop for stop in stops if stop < length), length]
    for begin, end in pairwise(ends):
        now = begin
        if begin > 0:
            now = min(begin + restart_seconds, end)
            found.append(Piece("restarting", begin, now))
        found += _between(now, end, interval, save_seconds)
    return [piece for piece in found if piece.end > piece.start]


def _between(now: float, end: float, interval: float, save_seconds: float) -> list[Piece]:
    """Computing and saving by turns, until a stop cuts it."""
    found = []
    while now < end:
        saving, saved = now + interval, now + interval + save_seconds
        found.append(Piece("kept" if saved <= end else "lost", now, min(saving, end)))
        found.append(Piece("saving", min(saving, end), min(saved, end)))
        now = saved
    return found


def seconds_of(kind: str, run: Sequence[Piece]) -> float:
    """Seconds that a run spends on one kind of part."""
    return sum(piece.end - piece.start for piece in run if piece.kind == kind)


def share_kept(
    interval: float, save_seconds: float, restart_seconds: float, between: float
) -> float:
    """The share of a long run's time that ends in work kept; stops come `between` seconds apart.

    That is their mean; they are as likely at any moment. Then a restart, and an interval with its
    save, come through with chances of e^(−seconds/between), each time anew: exact (Daly 2006).
    """
    lost = math.expm1(min((interval + save_seconds) / between, 700))
    return interval * math.exp(-restart_seconds / between) / (between * lost)
