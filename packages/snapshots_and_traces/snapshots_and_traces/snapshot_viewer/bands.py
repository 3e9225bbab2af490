"""The allocations of a history stacked over time, with as much detail as a picture can show.

Of any window of moments at most `columns` are shown, in each column the moment at which most was
live, so that no peak is lost; and at most `most` allocations have a band of their own, those that
cover most of the picture. The others share one band in each group.
"""

from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.colours import KINDS_OF_BYTES, OTHER_KINDS
from snapshots_and_traces.snapshots.lives import BEFORE, Array, History

COLUMNS, MOST = 600, 400
GROUP_COLOURS = (*OTHER_KINDS, "#F0E442", "#882255", "#999933")
BEFORE_COLOUR, OTHERS_COLOUR = "#A3A3A3", "#D8C3AE"
GROUPS = len(GROUP_COLOURS) + 2


@dataclass(frozen=True)
class Bands:
    """Columns of a stacked picture: the `moments` shown, and bands from the bottom to the top.

    A band is allocation `chosen`, of `group`, live in the columns from `first` up to, not
    including, `last`, and `size` bytes high; `chosen` -1 is the rest of a group, whose heights are
    in `small`, shape (groups, columns). `smaller` allocations are in these.
    """

    low: int
    high: int
    moments: Array
    chosen: Array
    group: Array
    first: Array
    last: Array
    size: Array
    small: Array
    smaller: int

    def edges(self) -> Array:
        """Bytes below each band in each column, and below nothing; shape (bands + 1, columns)."""
        place = np.arange(len(self.moments))
        alive = (self.first[:, None] <= place) & (place < self.last[:, None])
        heights = np.where(alive, self.size[:, None], 0)
        heights[self.chosen < 0] = self.small
        return np.vstack([np.zeros((1, len(place)), np.int64), np.cumsum(heights, axis=0)])


def bands(
    history: History,
    low: int = 0,
    high: int | None = None,
    columns: int = COLUMNS,
    most: int = MOST,
) -> Bands:
    """The bands between two moments, both shown. Raises: ValueError for an empty window."""
    high = history.moments - 1 if high is None else high
    if not 0 <= low <= high < history.moments:
        raise ValueError(f"The moments run from 0 to {history.moments - 1}, not {low} to {high}.")
    moments = _columns(history.live, low, high, columns)
    lives, group = history.allocations, group_of_site(history)[history.sites]
    first, last = np.searchsorted(moments, lives.birth), np.searchsorted(moments, lives.death)
    shown = np.flatnonzero(last > first)
    area = lives.size[shown] * (last - first)[shown]
    order = np.argpartition(-area, most) if len(shown) > most else np.arange(len(shown))
    own, rest = shown[order[:most]], shown[order[most:]]
    small = _rest(first[rest], last[rest], lives.size[rest], group[rest], len(moments))
    chosen = np.concatenate([own, np.full(GROUPS, -1)])
    in_group = np.concatenate([group[own], np.arange(GROUPS)])
    born = np.concatenate([lives.birth[own], np.full(GROUPS, history.moments)])
    stacked = np.lexsort((chosen, born, in_group))
    chosen = chosen[stacked]
    single = chosen >= 0

    def of_each(column: Array, of_rest: int) -> Array:
        values = np.full(len(chosen), of_rest)
        values[single] = column[chosen[single]]
        return values

    return Bands(
        low, high, moments, chosen, in_group[stacked], of_each(first, 0),
        of_each(last, len(moments)), of_each(lives.size, 0), small, len(rest),
    )  # fmt: skip


def _rest(first: Array, last: Array, size: Array, group: Array, columns: int) -> Array:
    """Bytes of each group in each column, shape (groups, columns)."""
    width = columns + 1
    born = np.bincount(group * width + first, size, GROUPS * width)
    died = np.bincount(group * width + last, size, GROUPS * width)
    return np.cumsum((born - died).reshape(GROUPS, width), axis=1)[:, :-1].astype(np.int64)


def _columns(live: Array, low: int, high: int, columns: int) -> Array:
    """Divides a window into `columns` equal parts; gives for each the moment when most is live."""
    if high - low < columns:
        return np.arange(low, high + 1)
    edges = np.linspace(low, high + 1, columns + 1).astype(np.int64)
    parts = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return np.array([start + int(live[start:end].argmax()) for start, end in parts])


def groups(history: History) -> list[tuple[str, str]]:
    """Names and colours from the bottom up: what was there before, those who held most bytes for
    most of the trace, and all others as one. Kinds of bytes have colours of their own.
    """
    names = [name for name in history.sites_by_weight if name != BEFORE][: len(GROUP_COLOURS)]
    names += [""] * (len(GROUP_COLOURS) - len(names))
    others = "all other kinds" if history.by_category else "asked for elsewhere"
    if history.by_category:
        order = list(KINDS_OF_BYTES)
        names.sort(key=lambda name: order.index(name) if name in KINDS_OF_BYTES else len(order))
    colours = [
        KINDS_OF_BYTES.get(name, colour) for name, colour in zip(names, GROUP_COLOURS, strict=True)
    ]
    coloured = zip(names, colours, strict=True)
    return [(BEFORE, BEFORE_COLOUR), *coloured, (others, OTHERS_COLOUR)]


def group_of_site(history: History) -> Array:
    """For each site the place of its group."""
    place = {name: number for number, (name, _) in enumerate(groups(history))}
    return np.array([place.get(name, GROUPS - 1) for name in history.site_names])
