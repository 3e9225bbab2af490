"""What torch's allocator hands out beside what is asked for: the ends of its segments."""

from course_utils.chapters.trading_compute_for_memory.model_shapes import Shape
from snapshots_and_traces.allocator.rules import (
    LARGE_SEGMENT,
    LARGEST_SMALL,
    ROUND_LARGE,
    SMALLEST_OWN_SEGMENT,
)


def granted(n_bytes: int) -> float:
    """The bytes that a tensor takes among others of its size.

    An end of up to 1 MiB isn't cut off: that of the tensor's own segment, or of the 20 MiB that
    several share, each then a part of it. Chapter 9 has the rules.
    """
    if n_bytes <= LARGEST_SMALL:
        return n_bytes
    if n_bytes < SMALLEST_OWN_SEGMENT:
        sharing = LARGE_SEGMENT // n_bytes
        end = LARGE_SEGMENT - sharing * n_bytes
    else:
        sharing, end = 1, -n_bytes % ROUND_LARGE
    return n_bytes + (end / sharing if end <= LARGEST_SMALL else 0)


def rounding_share(shape: Shape, itemsize: int) -> float:
    """What is handed out beside a model's matrices, as a share of them, in that many bytes each."""
    tables = [(shape.vocabulary, shape.width)] * (1 if shape.tied else 2)
    sizes = [itemsize * out * into for out, into in tables + shape.layers * shape.products]
    return sum(map(granted, sizes)) / sum(sizes) - 1
