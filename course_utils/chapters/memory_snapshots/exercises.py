"""Checkers for chapter 9, "Memory snapshots"."""

import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise, product
from typing import Any

import torch

from course_utils.chapters.memory_snapshots import assembled_allocator as rules
from course_utils.chapters.memory_snapshots.assembled_allocator import Assembled, score
from course_utils.chapters.memory_snapshots.chapter_snapshots import snapshot_file
from course_utils.chapters.memory_snapshots.programs import (
    PROGRAMS,
    growing_cache,
    large_optimizer,
    training,
)
from course_utils.chapters.memory_snapshots.published_snapshots import agreed
from course_utils.lesson.answers import against, as_list, shown
from course_utils.lesson.exercises import Wrong, exercise
from course_utils.memory.fake_gpu import fake_gpu, is_available
from course_utils.memory.made_snapshots import history_of
from course_utils.memory.views.timeline import draw_timeline
from snapshots_and_traces.allocator.rules import MiB
from snapshots_and_traces.replay.recorded import recorded_trace
from snapshots_and_traces.replay.what_if import Program, program_of
from snapshots_and_traces.snapshots.lives import History
from snapshots_and_traces.snapshots.loading import load

# ---- How a reader's allocator is scored: on the course's programs, and on what a real GPU did.


def all_right(**functions: Any) -> str:
    """What was tested, in words: what the course's programs asked for, and a GPU's published
    snapshots; every request must be answered as torch does. Raises: Wrong.
    """
    scores = [score(_recorded(name), **functions) for name in PROGRAMS]
    same, requests = map(sum, zip(*scores, strict=True))
    on_a_gpu, asked = agreed(lambda driver: Assembled(driver, **functions))
    if (same, on_a_gpu) != (requests, asked):
        raise Wrong(_says(same, requests, on_a_gpu, asked))
    return (
        f"the borders of the rules, {requests:,} requests of training runs and growing caches, and "
        f"all {asked} requests that a real GPU answered (published snapshots), at its addresses"
    )


@cache
def _recorded(name: str) -> Program:
    return program_of(recorded_trace(load(snapshot_file(name))))


def scored(**functions: Any) -> str:
    """How far a wrong answer gets, in words: where caches grow, and on a GPU's snapshots."""
    try:
        same, requests = score(_recorded("snapshot_fragmented"), **functions)
        return _says(same, requests, *agreed(lambda driver: Assembled(driver, **functions)))
    except Exception:
        return "With it, the allocator doesn't get through growing caches."


def _says(same: int, requests: int, on_a_gpu: int, asked: int) -> str:
    if (same, on_a_gpu) == (requests, asked):
        return "Such a case didn't come up in the training runs, which your allocator gets right."
    return (
        f"Your allocator answers {same:,} of {requests:,} requests as the real one does. "
        f"{on_a_gpu} of {asked} at a real GPU's addresses (published snapshots)."
    )


EDGES = (1, 511, 512, 513, MiB - 1, MiB, MiB + 1, 10 * MiB - 512, 10 * MiB - 511, 10 * MiB,
         10 * MiB + 1, 12 * MiB, 12 * MiB + 1)  # fmt: skip


@exercise(
    "memory.round",
    todo="write sizes(request): the bytes looked for, and those that a miss asks the driver for.",
    hints=(
        "Blocks are multiples of 512 bytes, at least one: -(-n // 512) * 512 rounds n up.",
        "Three cases for the segment, decided by the rounded size: up to 1 MiB, under 10 MiB, "
        "and the rest, which is rounded up to 2 MiB.",
    ),
)
def check_round(sizes: Callable[[int], tuple[int, int]]) -> str:
    """At every border of the rules, at random sizes, and in training runs."""
    drawn = [random.randrange(1, 64 * MiB) for _ in range(200)]
    requests = [(request,) for request in (*EDGES, *drawn)]

    def why(request: int) -> str:
        return f" (block, segment). {scored(sizes=sizes)}"

    against(sizes, rules.sizes, requests, why=why)
    return all_right(sizes=sizes)


@exercise(
    "memory.find_and_split",
    todo="write find_and_split(free, size): the address of the block that is used, and its bytes.",
    hints=(
        "The smallest block that fits; among equals, the lowest address. min((held, address) "
        "for …) says both at once.",
        "size tells the pool: up to 1 MiB is small. There, a rest of 512 bytes is kept free; "
        "in the large pool only one of more than 1 MiB, else the whole block is taken.",
    ),
)
def check_find_and_split(find_and_split: Callable[..., tuple[int, int] | None]) -> str:
    """On free lists with gaps, ties and near misses, in random order; then in training runs."""

    def copied(free: rules.FreeBlocks, size: int) -> Any:
        return find_and_split(list(free), size)

    def why(free: rules.FreeBlocks, size: int) -> str:
        return f". {scored(find_and_split=copied)}"

    cases = [(random.sample(free, len(free)), size) for size, free in _free_lists()]
    against(copied, rules.find_and_split, cases, why=why)
    return all_right(find_and_split=copied)


AT_THE_BORDERS: tuple[tuple[int, rules.FreeBlocks], ...] = (
    (512, []),
    (512, [(0, 512), (2 * MiB, 512)]),
    (MiB - 512, [(0, MiB + 512), (2 * MiB, 2 * MiB)]),
    (MiB, [(0, MiB + 512), (2 * MiB, 2 * MiB)]),
    (MiB + 512, [(0, 2 * MiB + 512)]),
    (MiB + 512, [(0, 2 * MiB + 1024)]),
    (3 * 1024 * MiB, [(0, 2**36), (2**36, 2**37)]),
)


def _free_lists() -> Iterator[tuple[int, rules.FreeBlocks]]:
    """Requests and free blocks: gaps, ties and near misses in both pools."""
    yield from ((size, list(free)) for size, free in AT_THE_BORDERS)
    for _ in range(30):
        a, b, c = sorted(random.sample(range(0, 200 * MiB, 2 * MiB), 3))
        n = 512 * random.randrange(1, 2000)
        yield n, [(a, n + 512), (b, n), (c, 2 * n + 512)]
        yield n, [(a, 2 * n + 1024), (b, n + 512), (c, n + 512)]
        yield n + 512, [(a, n), (b, n)]
        m = MiB + 512 * random.randrange(1, 40000)
        yield m, [(a, m + MiB), (b, m + 4 * MiB)]
        yield m, [(a, m + 4 * MiB), (b, m + MiB + 512)]
        yield m, [(a, m - 512), (b, m + 512), (c, m + 512)]


@exercise(
    "memory.free_and_merge",
    todo="write free_and_merge(segment, address): its blocks once the one at address is free.",
    hints=(
        "Go through the blocks from the lowest and build a new list; a free block after a "
        "free one makes that one longer.",
        "Both neighbours can be free: three blocks become one.",
    ),
)
def check_free_and_merge(free_and_merge: Callable[..., Any]) -> str:
    """On segments of up to five blocks, for every block in use; then in training runs."""

    def copied(segment: rules.Blocks, address: int) -> Any:
        return as_list(free_and_merge(list(segment), address), "a list of blocks")

    def why(segment: rules.Blocks, address: int) -> str:
        return f" (address, bytes, used). {scored(free_and_merge=copied)}"

    cases = [(blocks, at) for blocks in _segments() for at, _, used in blocks if used]
    against(copied, rules.free_and_merge, cases, why=why)
    return all_right(free_and_merge=copied)


def _segments() -> list[rules.Blocks]:
    """Every order that one to five blocks can have, never two free ones side by side."""
    segments = []
    for order in (o for count in range(1, 6) for o in product([True, False], repeat=count)):
        if all(used or after for used, after in pairwise(order)):
            sizes = random.choices((512, 1024, 4096), k=len(order))
            begin = 2 * MiB * random.randrange(100)
            begins = [begin + sum(sizes[:place]) for place in range(len(order))]
            segments.append(list(zip(begins, sizes, order, strict=True)))
    return segments


@cache
def _patients() -> list[tuple[str, History]]:
    """Programs of random sizes, run without computing where this torch can pretend a GPU.

    Sizes differ from one session to the next. At its largest, what is reserved exceeds what was
    ever live 1.3 times at the most, or 1.9 times and more where it is fragmented. A leak raises the
    floor of a large batch's steps 1.6 times, its peaks hardly: who compares peaks misses it.
    """
    steps, more = random.choice([3, 4]), random.randint(3, 5)
    runs: list[tuple[str, Callable[[torch.device], Any]]] = [
        ("healthy", lambda d: training(d, steps=steps, batch=24)),
        ("healthy", lambda d: training(d, steps=more, batch=random.choice([24, 40]), half=True)),
        ("healthy", lambda d: large_optimizer(d, layers=random.randint(6, 12))),
        ("leak", lambda d: training(d, steps=steps, batch=8, validate=True)),
        ("leak", lambda d: training(d, steps=more, batch=32, validate=True)),
        ("fragmentation", lambda d: growing_cache(d, tokens=random.randint(46, 52))),
        ("fragmentation", lambda d: growing_cache(d, tokens=random.randint(53, 60))),
    ]
    with fake_gpu() if is_available() else nullcontext(torch.device("cpu")) as device:
        return [(disease, history_of(partial(run, device), frames=False)) for disease, run in runs]


@exercise(
    "memory.diagnose",
    todo="write diagnose(history), which says 'healthy', 'leak' or 'fragmentation'.",
    hints=(
        "history.live and history.reserved are arrays of bytes, one entry an event. How much "
        "more is reserved at its largest than was ever live?",
        "A healthy loop comes back to one floor after each step; a leaking one doesn't. "
        "Compare the smallest live bytes of the middle third with those of the last.",
    ),
    prepare=_patients,
)
def check_diagnose(diagnose: Callable[[Any], str]) -> str:
    """On the histories of seven programs, sick and healthy, in random order."""
    for disease, of in random.sample(_patients(), len(_patients())):
        said = diagnose(replace(of))  # a copy: whoever sorts its arrays spoils no later try
        if str(said) not in DISEASES:
            raise Wrong(f"want one of {', '.join(map(repr, DISEASES))}, got {shown(said)}")
        if str(said) != disease:
            raise Wrong(
                f"you said '{said}' of a program whose answer is {disease!r}",
                partial(draw_timeline, of, disease),
            )
    return f"{len(_patients())} histories: " + ", ".join(DISEASES)


DISEASES = ("healthy", "leak", "fragmentation")
