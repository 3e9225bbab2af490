"""Checkers for chapter 9, "Memory snapshots"."""

import random
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from typing import Any

import torch

from course_utils.chapters.memory_snapshots.assembled_allocator import Impossible, score
from course_utils.chapters.memory_snapshots.made_snapshots import history_of
from course_utils.chapters.memory_snapshots.programs import growing_cache, large_optimizer, training
from course_utils.chapters.memory_snapshots.training_stream import Shape, training_program
from course_utils.lesson.exercises import Wrong, exercise
from course_utils.memory.allocator.rules import CachingAllocator, MiB
from course_utils.memory.fake_gpu import fake_gpu, is_available
from course_utils.memory.snapshots.lives import History
from course_utils.memory.views.timeline import draw_timeline

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
    """At every border of the rules, at random sizes, and in a training run."""
    real = CachingAllocator()
    for request in (*EDGES, *(random.randrange(1, 64 * MiB) for _ in range(200))):
        block = real.round(request)
        want = (block, real.segment_size(block))
        got = sizes(request)
        if not isinstance(got, tuple | list) or tuple(got) != want:
            raise Wrong(
                f"a request of {request:,} bytes: you say {got!r:.60}, want {want} (block, "
                f"segment). {_scored(sizes=sizes)}"
            )
    return _all_right(sizes=sizes)


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
    for size, free, want in _free_lists():
        random.shuffle(free)
        got = find_and_split(list(free), size)
        if got != want and (got is None or want is None or tuple(got) != want):
            shown = ", ".join(f"{held:,} at {address}" for address, held in sorted(free)) or "none"
            raise Wrong(
                f"{size:,} bytes, free blocks of {shown}: you say {got!r:.60}, want {want}. "
                f"{_scored(find_and_split=find_and_split)}"
            )
    return _all_right(find_and_split=find_and_split)


def _free_lists() -> list[tuple[int, list[tuple[int, int]], tuple[int, int] | None]]:
    """Request, free blocks, and what is right: rules 2 and 4 for both pools."""
    lists: list[tuple[int, list[tuple[int, int]], tuple[int, int] | None]] = [(512, [], None)]
    for _ in range(30):
        a, b, c = sorted(random.sample(range(0, 200 * MiB, 2 * MiB), 3))
        n = 512 * random.randrange(1, 2000)
        lists += [
            (n, [(a, n + 512), (b, n), (c, 2 * n + 512)], (b, n)),
            (n, [(a, 2 * n + 1024), (b, n + 512), (c, n + 512)], (b, n)),
            (n + 512, [(a, n), (b, n)], None),
        ]
        m = MiB + 512 * random.randrange(1, 40000)
        lists += [
            (m, [(a, m + MiB), (b, m + 4 * MiB)], (a, m + MiB)),
            (m, [(a, m + 4 * MiB), (b, m + MiB + 512)], (b, m)),
            (m, [(a, m - 512), (b, m + 512), (c, m + 512)], (b, m + 512)),
        ]
    return lists


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
    """On random segments, for every block in use; then in training runs."""
    for _ in range(30):
        segment = _segment()
        for address in [a for a, _, used in segment if used]:
            want = _merged(segment, address)
            got = free_and_merge(list(segment), address)
            if got is None or [tuple(one) for one in got] != want:
                raise Wrong(
                    f"segment {segment}, block {address} freed: you say {got!r:.200}, want {want}. "
                    f"{_scored(free_and_merge=free_and_merge)}"
                )
    return _all_right(free_and_merge=free_and_merge)


def _segment() -> list[tuple[int, int, bool]]:
    """Blocks as they can be: never two free ones side by side."""
    blocks: list[tuple[int, int, bool]] = []
    at = 0
    for _ in range(random.randrange(1, 6)):
        size = 512 * random.randrange(1, 9)
        used = random.random() < 0.6 or bool(blocks and not blocks[-1][2])
        blocks.append((at, size, used))
        at += size
    return blocks


def _merged(segment: list[tuple[int, int, bool]], address: int) -> list[tuple[int, int, bool]]:
    result: list[tuple[int, int, bool]] = []
    for at, size, used in segment:
        free = not used or at == address
        if free and result and not result[-1][2]:
            result[-1] = (result[-1][0], result[-1][1] + size, False)
        else:
            result.append((at, size, not free))
    return result


@cache
def _patients() -> list[tuple[str, History]]:
    """Programs of random sizes, run without computing where this torch can pretend a GPU.

    Sizes differ from one session to the next.
    """
    steps, more = random.choice([3, 4]), random.randint(3, 5)
    runs: list[tuple[str, Callable[[torch.device], Any]]] = [
        ("healthy", lambda d: training(d, steps=steps, batch=24)),
        ("healthy", lambda d: training(d, steps=more, batch=random.choice([16, 32]), half=True)),
        ("healthy", lambda d: large_optimizer(d, layers=random.randint(6, 12))),
        ("leak", lambda d: training(d, steps=steps, batch=8, validate=True)),
        ("leak", lambda d: training(d, steps=more, batch=16, validate=True)),
        ("fragmentation", lambda d: growing_cache(d, tokens=random.randint(20, 30))),
        ("fragmentation", lambda d: growing_cache(d, tokens=random.randint(30, 40))),
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
        said = diagnose(of)
        if said not in DISEASES:
            raise Wrong(f"want one of {', '.join(map(repr, DISEASES))}, got {said!r:.60}")
        if said != disease:
            raise Wrong(
                f"{said!r} is what you say of a program with {disease!r}",
                draw_timeline(of, disease),
            )
    return f"{len(_patients())} histories: " + ", ".join(DISEASES)


DISEASES = ("healthy", "leak", "fragmentation")


def _all_right(**functions: Any) -> str:
    """Training runs of other shapes at each try; every request must be answered as torch does."""
    requests = 0
    for shape in (Shape(), Shape(3, random.choice([256, 384, 640]), random.randrange(500, 4000))):
        program = training_program(shape, random.randrange(10**6))
        try:
            found = score(program, **functions)
        except Impossible as problem:
            raise Wrong(str(problem)) from None
        if found.first:
            raise Wrong(f"{_says(found.same, found.total)} The first that differs: {found.first}")
        requests += found.total
    return f"the borders of the rules and {requests:,} requests of two training runs"


def _scored(**functions: Any) -> str:
    try:
        found = score(training_program(), **functions)
    except Exception:
        return "With it, the allocator doesn't get through a training run."
    return _says(found.same, found.total)


def _says(same: int, total: int) -> str:
    return f"Your allocator answers {same:,} of {total:,} requests as the real one does."
