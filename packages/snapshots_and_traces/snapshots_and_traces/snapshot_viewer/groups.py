"""Groups allocations by call stack, in as many groups as a picture has colours."""

import numpy as np

from snapshots_and_traces.colours import KINDS_OF_BYTES, OTHER_KINDS
from snapshots_and_traces.snapshots.lives import BEFORE, Array, History

GROUP_COLOURS = (*OTHER_KINDS, "#F0E442", "#882255", "#999933")
BEFORE_COLOUR, OTHERS_COLOUR = "#A3A3A3", "#D8C3AE"


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
    return np.array([place.get(name, len(GROUP_COLOURS) + 1) for name in history.site_names])
