"""Models to cut into stages: what an answer to the exercise is tried on, and judged by."""

import random
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from course_utils.lesson.answers import as_numbers, shown
from course_utils.lesson.exercises import Wrong

GPT_SMALL = [0, *[69] * 12, 308]  # MFLOP a token: embedding, blocks, head; about those of the page
EDGES: list[tuple[list[int], int]] = [
    ([5], 1),
    ([3, 1, 4, 1, 5], 1),
    ([2, 7, 1, 8], 4),
    ([0, 0, 0, 9], 2),
    ([0, 0, 0], 3),
    ([9, 1, 1, 1, 1, 1], 3),
    ([1, 1, 1, 1, 1, 9], 3),
    ([4, 4, 4, 5, 5, 5, 1], 3),
    (GPT_SMALL, 4),
]


def cuts_tried(balance: Callable[[list[int], int], Any]) -> str:
    """Tries `balance` on each edge, random costs and a model of 128 layers; says on what.

    Raises: Wrong for no cut, and for one whose largest part could be smaller.
    """
    drawn = [_drawn(random.randint(2, 14)) for _ in range(60)]
    large = [0, *random.choices(range(900, 1100), k=126), 3000]
    for costs, ranks in [*EDGES, *drawn, (large, 16)]:
        given = list(costs)
        counts = as_numbers(balance(given, ranks))
        about = f"{len(costs)} layers" if len(costs) > 20 else f"costs {costs}"
        _judge(counts, costs, ranks, f"{about} on {ranks} {'ranks' if ranks > 1 else 'rank'}")
        if given != costs:
            raise Wrong(f"{about}: your function changed the caller's list")
    return f"{len(EDGES)} edges, {len(drawn)} random models, and one of 128 layers on 16 ranks"


def _drawn(layers: int) -> tuple[list[int], int]:
    """Costs with a few large ones among them, and a number of ranks that they are enough for."""
    costs = random.choices([0, 1, 2, 3, 5, 8, 13, 40], k=layers)
    return costs, random.randint(1, layers)


def _judge(counts: list[float], costs: Sequence[int], ranks: int, where: str) -> None:
    """Raises: Wrong for counts that aren't a cut of these costs, or one with a larger largest."""
    you = f"{where}: you return {shown(counts)}"
    if len(counts) != ranks:
        raise Wrong(f"{you}, want {ranks} numbers of layers")
    if empty := [rank for rank, count in enumerate(counts) if count < 1]:
        raise Wrong(f"{you}: rank {empty[0]} has no layer, and would only pass on what it gets")
    if any(count % 1 for count in counts) or sum(counts) != len(costs):
        raise Wrong(f"{you}, which is {sum(counts):g} layers of {len(costs)}")
    ends = [0, *accumulate(map(int, counts))]
    parts = [sum(costs[a:b]) for a, b in pairwise(ends)]
    least = least_largest(costs, ranks)
    if max(parts) > least:
        slow = parts.index(max(parts))
        raise Wrong(f"{you}: rank {slow} costs {max(parts)}, and all wait for it; {least} will do")


def least_largest(costs: Sequence[int], ranks: int) -> int:
    """The largest sum of a contiguous part, in the best cut into `ranks` parts or fewer.

    For costs of 0 or more a part can be cut further and gets no larger: with as many layers as
    ranks, the best cut into exactly `ranks` parts that hold a layer each is as good. Bisection over
    the limit: filled one after the other, how many parts does it take?
    """
    low, high = max(costs), sum(costs)
    while low < high:
        limit = (low + high) // 2
        parts, room = 1, limit
        for cost in costs:
            if cost > room:
                parts, room = parts + 1, limit
            room -= cost
        low, high = (low, limit) if parts <= ranks else (limit + 1, high)
    return low
