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
    gpus: int, tokens: int, width: int, numbers: int, layers: int, matmuls: float, inside: float,
    port: float, room: float,
) -> tuple[int, float] | None:  # fmt: skip
    """The reference: the four degrees of TP in a node of 8, by brute force."""
    best: tuple[int, float] | None = None
    for n in (1, 2, 4, 8):
        s = gpus // n
        states = layers * (16 * numbers + 2 * width * tokens) / gpus
        if states + 2 * 2 * numbers / n > room:
            continue
        gather = 2 * numbers / n * (s - 1) / s / min(inside, 8 * port / n)
        tensor = 4 * 2 * width * tokens / s * (n - 1) / n / inside
        seconds = max(matmuls + tensor, gather)
        if best is None or seconds < best[1]:
            best = n, seconds
    return best


@exercise(
    "split.best_mix",
    todo="write best_mix(…): the degree of TP that is quickest and fits, and its seconds.",
    hints=(
        "Loop over 1, 2, 4 and 8. For each: the seconds of the gather, of the matmuls with four "
        "collectives, and the bytes; skip what is over room.",
        "n rings of FSDP share 8 ports, so each has 8 · port / n bytes/s, and at most inside. "
        "States and activations don't depend on n; two gathered layers take 2 · 2 · numbers / n.",
    ),
)
def check_best_mix(answer: Callable[..., Any]) -> str:
    """Links and memories under which each degree is best, or none fits."""
    base = (64, 2**16, 8192, 856 * 10**6, 80)
    rooms = (80e9, 21e9, 19.6e9, 19e9, 18.6e9)
    cases: list[tuple[Any, ...]] = [(*base, 4.5e-3, 367.6e9, 50e9, room) for room in rooms]
    cases += [(*base, 1e-3, 400e9, 400e9, 80e9), (16, 64, 64, 8192, 2, 1e-5, 1e9, 1e9, 25_600)]
    for _ in range(60):
        gpus = random.choice((16, 32, 48, 64, 256))
        width, layers = 1024 * random.randint(1, 16), random.randint(2, 100)
        numbers, tokens = 12 * width**2, gpus * random.randint(64, 4096)
        inside = 10 ** random.uniform(10.5, 12)
        port = inside * 10 ** random.uniform(-1.5, 0)
        least = layers * (16 * numbers + 2 * width * tokens) / gpus
        room = least + 4 * numbers / 2 ** random.uniform(-1, 4)
        matmuls = 2 * numbers / inside * 10 ** random.uniform(-1.5, 0.5)
        cases.append((gpus, tokens, width, numbers, layers, matmuls, inside, port, room))
    against(answer, best_mix, cases)
    return f"{len(cases)} models and clusters, with memory for all degrees, some or none"
