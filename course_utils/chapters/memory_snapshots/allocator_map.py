"""The map of the blocks of the allocator that chapter 9's page writes."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import numpy as np

from course_utils.figures.style import Picture
from course_utils.memory.views.pictures import draw_map
from snapshots_and_traces.snapshot_viewer.memory_map import MemoryMap


def draw_blocks(title: str, blocks: Iterable[Any], wanted: int = 0) -> Picture:
    """Draws the segments of an allocator: blocks in use, free ones, and the block `wanted`.

    A block has `address`, `size`, `segment` (where its segment begins) and `requested`, which is 0
    for a free one.
    """
    ordered = sorted(blocks, key=attrgetter("address"))
    begins, rows = np.unique([block.segment for block in ordered], return_inverse=True)
    sizes = np.array([block.size for block in ordered])
    after = np.cumsum(sizes)
    edges = np.append(0, after[np.searchsorted(rows, np.arange(len(begins)), side="right") - 1])
    used = np.array([block.requested > 0 for block in ordered])
    shown = MemoryMap(edges, (after - sizes)[used], after[used], rows[used])
    return draw_map(shown, title, "at the failure", wanted)
