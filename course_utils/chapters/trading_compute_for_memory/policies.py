"""What to keep under a budget: random operators, and of all that fits the choice that is best."""

import random
from collections.abc import Callable, Iterable

Operators = dict[str, tuple[int, int]]  # what each result takes in MiB, and costs again in GFLOP
Plan = tuple[Operators, int]
NAMES = (
    "norm_1", "to_qkv", "attention", "to_out", "add_1", "norm_2",
    "up", "gelu", "down", "add_2", "norm", "logits",
)  # fmt: skip
EDGES: tuple[Plan, ...] = (
    ({}, 4),
    ({"up": (4, 9), "gelu": (4, 1)}, 0),
    ({"logits": (9, 50), "gelu": (4, 1)}, 8),  # one that doesn't fit
    ({"up": (8, 9)}, 8),  # one that fits exactly
    ({"up": (4, 9), "gelu": (4, 1), "norm_1": (1, 2)}, 9),  # all fit exactly
    ({"to_out": (3, 7), "down": (3, 7)}, 5),  # two as good
    ({"add_1": (3, 0), "down": (3, 7)}, 3),  # one that costs nothing
)


GREEDY: tuple[Callable[[int, int], float], ...] = (  # what is kept first
    lambda size, flops: flops / size,
    lambda size, flops: flops,
    lambda size, flops: -size,
)


def plans() -> list[Plan]:
    """The edges, then random operators of which no greedy order keeps the best."""
    return [*EDGES, *map(_tricky, (4, 5, 6, 12, 12, 12))]


def _tricky(count: int) -> Plan:
    while True:
        names = random.sample(NAMES, count)
        operators = {name: (random.randint(2, 12), random.randint(2, 40)) for name in names}
        budget = sum(size for size, _ in operators.values()) // 2
        least = recomputed(operators, best(operators, budget))
        if all(recomputed(operators, _greedy(operators, budget, by)) > least for by in GREEDY):
            return operators, budget


def _greedy(operators: Operators, budget: int, by: Callable[[int, int], float]) -> list[str]:
    """One after the other, by a number that says which first, each that still fits."""
    kept: list[str] = []
    for name in sorted(operators, key=lambda name: -by(*operators[name])):
        size = operators[name][0]
        if size <= budget:
            kept, budget = [*kept, name], budget - size
    return kept


def recomputed(operators: Operators, kept: Iterable[str]) -> int:
    """The GFLOP of all operators but those kept."""
    return sum(flops for name, (_, flops) in operators.items() if name not in set(kept))


def best(operators: Operators, budget: int) -> list[str]:
    """Names that take at most `budget` MiB and leave the fewest GFLOP to compute again.

    A table by MiB, one operator after the other: Bellman's for the knapsack (1957).
    """
    table: list[tuple[int, list[str]]] = [(0, [])] * (budget + 1)
    for name, (size, flops) in operators.items():
        with_it = [(saved + flops, [*kept, name]) for saved, kept in table]
        table = [
            max(without, with_it[room - size]) if room >= size else without
            for room, without in enumerate(table)
        ]
    return table[budget][1]
