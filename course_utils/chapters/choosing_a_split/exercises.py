"""Checkers for chapter 15, "Choosing a split"."""

import random
from collections.abc import Callable
from itertools import chain, pairwise
from operator import index
from typing import Any

from course_utils.lesson.answers import against
from course_utils.lesson.exercises import Wrong, exercise


@exercise(
    "split.places",
    todo="write places(tokens, ranks): the positions of each rank, equal work for all.",
    hints=(
        "Cut the sequence into 2 · ranks pieces of equal length. Which two pieces together have "
        "as many pairs as any other such two?",
        "Piece k and piece 2 · ranks − 1 − k: what one is short of the middle, the other exceeds.",
    ),
)
def check_places(places: Callable[[int, int], Any]) -> str:
    """Several numbers of ranks: a partition, equal shares, equal pairs, at most two runs."""
    cases = [(8, 4), (6, 3), (2, 1), (24, 4), (64, 2), (2 * 5 * random.randint(2, 9), 5)]
    cases += [(2 * n * random.randint(1, 20), n) for n in (4, 7, 16)]
    for tokens, ranks in sorted(cases):
        where = f"for tokens={tokens}, ranks={ranks}"
        given = places(tokens, ranks)
        try:
            held = [[*map(index, one)] for one in given]
        except TypeError:
            raise Wrong(f"{where}: want lists of positions, got {given!r:.60}") from None
        if len(held) != ranks:
            raise Wrong(f"{where}: {len(held)} lists, want one for each of {ranks} ranks")
        if sorted(chain(*held)) != list(range(tokens)):
            raise Wrong(f"{where}: want every position from 0 to {tokens - 1} exactly once")
        if any(one != sorted(one) for one in held):
            raise Wrong(f"{where}: want each rank's positions sorted")
        if len(sizes := {len(one) for one in held}) > 1:
            raise Wrong(f"{where}: ranks hold {min(sizes)} to {max(sizes)} positions, want equal")
        pairs = [sum(one) + len(one) for one in held]
        if len({*pairs}) > 1:
            raise Wrong(f"{where}: ranks score {pairs} pairs, want {sum(pairs) // ranks} each")
        runs = max(1 + sum(b > a + 1 for a, b in pairwise(one)) for one in held)
        if runs > 2:
            raise Wrong(f"{where}: a rank has {runs} runs of neighbours, want at most 2")
    return f"{len(cases)} lengths over 1 to 16 ranks"


def best_mix(
    gpus: int, tokens: int, width: int, numbers: int, layers: int, fsdp: float, tp: float,
    room: float,
) -> tuple[int, float] | None:  # fmt: skip
    """The reference: every degree of TP, by brute force."""
    best: tuple[int, float] | None = None
    for y in (2**k for k in range(gpus.bit_length())):
        if gpus % y:
            continue
        x = gpus // y
        states = layers * (16 * numbers + 2 * width * tokens) / gpus
        if states + 2 * 2 * numbers / y > room:
            continue
        gather = 2 * numbers / y * (x - 1) / x / fsdp
        tensor = 4 * 2 * width * tokens / x * (y - 1) / y / tp
        if best is None or gather + tensor < best[1]:
            best = y, gather + tensor
    return best


@exercise(
    "split.best_mix",
    todo="write best_mix(…): the degree of TP that communicates least and fits, and its seconds.",
    hints=(
        "Loop over the powers of two that divide gpus. For each: the seconds of the gather and "
        "of four collectives, and the bytes; skip what is over room.",
        "States and activations don't depend on the degree: gpus ranks share them. What shrinks "
        "with TP are the two gathered layers, 2 · 2 · numbers / Y bytes.",
    ),
)
def check_best_mix(answer: Callable[..., Any]) -> str:
    """Links and memories under which each degree is best, or none fits."""
    base = (64, 2**16, 8192, 856 * 10**6, 80)
    cases: list[tuple[Any, ...]] = [
        (*base, 50e9, 50e9, 80e9), (*base, 400e9, 50e9, 80e9), (*base, 1e9, 400e9, 80e9),
        (*base, 400e9, 50e9, 31.5e9), (*base, 50e9, 50e9, 20e9), (*base, 1e15, 1e9, 29.2e9),
        (1, 64, 64, 1024, 2, 1e9, 1e9, 1e9),
        (8, 64, 64, 8192, 2, 1e9, 1e9, 38_912), (96, 2**16, 8192, 856 * 10**6, 80, 1e9, 1e12, 80e9),
    ]  # fmt: skip
    for _ in range(40):
        gpus = random.choice((8, 16, 24, 64, 256))
        width, layers = 1024 * random.randint(1, 16), random.randint(2, 100)
        numbers, tokens = 12 * width**2, gpus * random.randint(64, 4096)
        fsdp, tp = (10 ** random.uniform(9.5, 12) for _ in range(2))
        least = layers * (16 * numbers + 2 * width * tokens) / gpus
        room = least + 4 * numbers / 2 ** random.uniform(-1, 8)
        cases.append((gpus, tokens, width, numbers, layers, fsdp, tp, room))
    against(answer, best_mix, cases)
    return f"{len(cases)} models and clusters, with memory for all degrees, some or none"
