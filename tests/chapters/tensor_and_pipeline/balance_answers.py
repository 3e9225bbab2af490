"""Answers to the exercise on cutting a model into stages: wrong ones, and unusual right ones."""

from itertools import combinations, pairwise

import numpy as np

from tests.support.patches import changed


def equal_numbers_of_layers(costs, ranks):
    return [len(part) for part in np.array_split(costs, ranks)]


def until_the_mean_is_reached(costs, ranks):
    counts, mean, now = [0], sum(costs) / ranks, 0
    for left, cost in zip(range(len(costs), 0, -1), costs, strict=True):
        full = counts[-1] and now + cost > mean and len(counts) < ranks
        if full or (counts[-1] and left <= ranks - len(counts)):
            counts.append(0)
            now = 0
        counts[-1] += 1
        now += cost
    return counts


def nearest_to_equal_shares(costs, ranks):
    sums = np.cumsum(costs)
    wants = [sums[-1] * (rank + 1) / ranks for rank in range(ranks - 1)]
    ends = [0, *(int(np.abs(sums - want).argmin()) + 1 for want in wants), len(costs)]
    return [b - a for a, b in pairwise(ends)]


def leaves_a_rank_empty(costs, ranks):
    counts = filled(costs, least_limit(costs, ranks))
    return counts + [0] * (ranks - len(counts))


def filled(costs, limit):
    counts, room = [0], limit
    for cost in costs:
        if cost > room:
            counts.append(0)
            room = limit
        counts[-1] += 1
        room -= cost
    return counts


def least_limit(costs, ranks):
    return next(x for x in range(max(costs), sum(costs) + 1) if len(filled(costs, x)) <= ranks)


def without_order(costs, ranks):
    sums, counts = [0] * ranks, [0] * ranks
    for cost in sorted(costs, reverse=True):
        least = sums.index(min(sums))
        sums[least] += cost
        counts[least] += 1
    return counts


def the_head_apart(costs, ranks):
    if ranks == 1 or len(costs) == 1:
        return [len(costs)]
    return [*equal_numbers_of_layers(costs[:-1], ranks - 1), 1]


def by_every_cut(costs, ranks):
    def largest(cuts):
        return max(sum(costs[a:b]) for a, b in pairwise([0, *cuts, len(costs)]))

    cuts = min(combinations(range(1, len(costs)), ranks - 1), key=largest)
    return [b - a for a, b in pairwise([0, *cuts, len(costs)])]


def by_a_limit(costs, ranks):
    counts = filled(costs, least_limit(costs, ranks))
    while len(counts) < ranks:
        place = next(i for i, count in enumerate(counts) if count > 1)
        counts[place : place + 1] = [1, counts[place] - 1]
    return counts


SUMS, BEST = "sums = [0, *accumulate(costs)]", "best(len(costs), ranks)[1]"
WRONG = [
    equal_numbers_of_layers,
    until_the_mean_is_reached,
    nearest_to_equal_shares,
    leaves_a_rank_empty,
    without_order,
    the_head_apart,
    *changed(
        "shard.balance",
        the_sums={", [end]": ", [sums[end]]", "end - cut]": "sums[end] - sums[cut]]"},
        the_cuts={BEST: f"list(accumulate({BEST}))[:-1]"},
        eats_the_list={
            SUMS: f"{SUMS}\n    n = len(costs)\n    costs.clear()",
            "best(len(costs)": "best(n",
        },
    ),
]
RIGHT = [by_a_limit]
