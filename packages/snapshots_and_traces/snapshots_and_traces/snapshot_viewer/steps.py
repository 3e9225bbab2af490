"""Steps found in the curve of live bytes, and who holds more after each of them: a leak's sign.

Nothing in a trace says where a step of training ends. But between two steps the curve is low: it
falls, and rises again by much more than it grew. A forward pass, which only rises, has no steps.
"""

from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.snapshots.lives import BEFORE, Array, History

SWINGS = (0.25, 0.1, 0.03, 0.01)  # of the highest peak: how deep a fall ends a step
FEWEST_RISES = 3
GROWTH_SHARE, GROWTH_BYTES = 0.005, 2**20
SWING_OVER_GROWTH = 2.0  # most of what a step allocates is freed in it


@dataclass(frozen=True)
class Growth:
    """Who held how many bytes (`held`) at the low points between steps (`moments`)."""

    site: str
    moments: tuple[int, ...]
    held: tuple[int, ...]

    @property
    def per_step(self) -> float:
        return (self.held[-1] - self.held[0]) / (len(self.held) - 1)


def growth(history: History, most: int = 3) -> list[Growth]:
    """Those who held more at every low point than at the one before, by growth, most first.

    The first low points may be a start-up: at least the last three rises count. What all hold must
    have grown with them: an optimizer's new weights take the place of the old ones.
    """
    places = low_points(history.live)
    if len(places) < FEWEST_RISES + 1:
        return []
    held = np.array([_by_site(history, moment) for moment in places.tolist()])
    found = []
    least = max(GROWTH_SHARE * float(history.live.max()), GROWTH_BYTES)
    for site, name in enumerate(history.site_names):
        rises = np.diff(held[:, site]) > 0
        run = len(rises) if rises.all() else int(np.argmax(~rises[::-1]))
        own = held[len(held) - run - 1 :, site]
        grown = int(own[-1] - own[0])
        in_all = np.diff(history.live[places[-run - 1 :]])
        enough = run >= max(FEWEST_RISES, len(rises) // 2) and grown >= least
        if enough and name != BEFORE and (in_all > 0).all() and in_all.sum() >= grown / 2:
            found.append(Growth(name, tuple(places[-run - 1 :].tolist()), tuple(own.tolist())))
    return sorted(found, key=lambda one: one.held[0] - one.held[-1])[:most]


def low_points(live: Array) -> Array:
    """The moments of the lowest points between steps; none where the curve has no steps."""
    for share in SWINGS:
        lows, highs = _turns(live, share * float(live.max()))
        if len(lows) <= FEWEST_RISES:
            continue
        swing = np.median(live[highs[: len(lows)]] - live[lows])
        if swing >= SWING_OVER_GROWTH * np.median(np.abs(np.diff(live[lows]))):
            return lows
    return np.zeros(0, np.int64)


def _turns(live: Array, depth: float) -> tuple[Array, Array]:
    """The places of lows and highs between which the curve moves by `depth` or more."""
    moves = np.flatnonzero(np.diff(live)) + 1
    lows: list[int] = []
    highs: list[int] = []
    rising, best, extreme = True, 0, 0
    for place, value in zip(moves.tolist(), live[moves].tolist(), strict=True):
        if (rising and value > extreme) or (not rising and value < extreme):
            best, extreme = place, value
        elif abs(value - extreme) >= depth > 0:
            (highs if rising else lows).append(best)
            rising, best, extreme = not rising, place, value
    return np.array(lows, np.int64), np.array(highs, np.int64)


def _by_site(history: History, moment: int) -> Array:
    alive = history.allocations.at(moment)
    sizes = history.allocations.size[alive]
    return np.bincount(history.sites[alive], sizes, len(history.site_names)).astype(np.int64)
