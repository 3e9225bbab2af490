"""Checkers for chapter 9, "Memory snapshots"."""

import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from itertools import count
from typing import Any

import torch

from course_utils.chapters.memory_snapshots.chapter_snapshots import snapshot_file
from course_utils.chapters.memory_snapshots.programs import (
    PROGRAMS,
    growing_cache,
    large_optimizer,
    training,
)
from course_utils.lesson.answers import against, shown
from course_utils.lesson.exercises import Wrong, exercise
from course_utils.memory.fake_gpu import apart, fake_gpu, is_available
from course_utils.memory.made_snapshots import history_of
from course_utils.memory.views.pictures import draw_timeline
from snapshots_and_traces.allocator.rules import (
    LARGEST_SMALL,
    Block,
    CachingAllocator,
    Driver,
    MiB,
    Pool,
)
from snapshots_and_traces.replay.recorded import recorded_trace
from snapshots_and_traces.replay.what_if import Program, program_of
from snapshots_and_traces.snapshots.lives import History
from snapshots_and_traces.snapshots.loading import load

# ---- The caching allocator with a reader's search for a block, scored call by call.

FreeBlocks = list[tuple[int, int]]
RULES = CachingAllocator()


def torch_splits(free: FreeBlocks, size: int) -> tuple[int, int] | None:
    """Returns the address of the block that is used and the bytes of it that are handed out.

    `free` are the free blocks (address, size) of the right stream and pool, in any order. None
    where none fits.
    """
    fitting = [(held, address) for address, held in free if held >= size]
    if not fitting:
        return None
    held, address = min(fitting)
    pool = Pool(0, small=size <= LARGEST_SMALL)
    return address, size if RULES.splits(Block(pool, address, held), size) else held


class Assembled(CachingAllocator):
    """Torch's allocator, except that this function finds and splits blocks.

    An answer that no allocator could act on raises whatever comes of it.
    """

    def __init__(
        self,
        driver: Driver | None = None,
        find_and_split: Callable[[FreeBlocks, int], Any] = torch_splits,
    ) -> None:
        super().__init__(driver)
        self.find_and_split = find_and_split

    def find(self, pool: Pool, size: int) -> Block | None:
        free = {block.address: block for _, _, block in pool.blocks}
        chosen = self.find_and_split([(at, free[at].size) for at in sorted(free)], size)
        return None if chosen is None else free[int(chosen[0])]

    def splits(self, block: Block, size: int) -> bool:
        _, taken = self.find_and_split([(block.address, block.size)], size)
        return bool(taken < block.size)


def score(program: Program, find_and_split: Callable[..., Any]) -> tuple[int, int]:
    """Returns how many of a program's requests are answered as by torch, and how many there are.

    An answer is the block's bytes, and those of the segments asked of the driver.
    """
    real = list(_answers(program, CachingAllocator(_far_apart())))
    own = list(_answers(program, Assembled(_far_apart(), find_and_split)))
    return sum(one == other for one, other in zip(real, own, strict=True)), len(real)


def _far_apart() -> Driver:
    """A driver whose n-th segment begins at n · 2^36, so that one wrong size moves no other."""
    return Driver(places=count(2**36, 2**36))


def _answers(program: Program, allocator: CachingAllocator) -> Iterator[list[int]]:
    live: dict[int, Block] = {}
    for step in program.steps:
        if step.action == "alloc":
            made = len(allocator.driver.calls)
            block = live[step.key] = allocator.malloc(step.size, step.stream, step.pool)
            yield [block.size, *(size for _, _, size in allocator.driver.calls[made:])]
        elif step.action == "free":
            allocator.free(live.pop(step.key))
        else:
            allocator.empty_cache()


@cache
def _recorded(name: str) -> Program:
    return program_of(recorded_trace(load(snapshot_file(name))))


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

    def copied(free: FreeBlocks, size: int) -> Any:
        return find_and_split(list(free), size)

    cases = [(random.sample(free, len(free)), size) for size, free in _free_lists()]
    against(copied, torch_splits, cases)
    scores = [score(_recorded(name), copied) for name in PROGRAMS]
    same, requests = map(sum, zip(*scores, strict=True))
    if same != requests:
        raise Wrong(f"in training runs it answers {same:,} of {requests:,} requests as torch does")
    return f"ties, near misses, and {requests:,} requests of training runs and growing caches"


AT_THE_BORDERS: tuple[tuple[int, FreeBlocks], ...] = (
    (512, []),
    (512, [(0, 512), (2 * MiB, 512)]),
    (MiB - 512, [(0, MiB + 512), (2 * MiB, 2 * MiB)]),
    (MiB, [(0, MiB + 512), (2 * MiB, 2 * MiB)]),
    (MiB + 512, [(0, 2 * MiB + 512)]),
    (MiB + 512, [(0, 2 * MiB + 1024)]),
    (3 * 1024 * MiB, [(0, 2**36), (2**36, 2**37)]),
)


def _free_lists() -> Iterator[tuple[int, FreeBlocks]]:
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
    "memory.verdict",
    todo="write verdict(tried, free, allocated, unallocated, capacity, context).",
    hints=(
        "Three questions in order: would what is free and what is unallocated do together? Would "
        "the program fit on a card that holds only its context? Else it is too large.",
        "allocated + tried + context is what the program needs at least.",
    ),
)
def check_verdict(verdict: Callable[..., str]) -> str:
    """On messages at the borders of each verdict, and between them."""
    cases = [(20.0, 14.0, 173.38, 68.62, 256.0, 0.0)]
    for _ in range(60):
        context, others = float(random.randint(1, 8)), float(random.randint(1, 20))
        free, holes, allocated = (float(random.randint(1, 60)) for _ in range(3))
        capacity = free + holes + allocated + context + others
        border = random.choice([0.0, 0.25, -0.25])
        for tried in (free + holes, free + holes + others, free + holes + others + context):
            cases.append((tried + border, free, allocated, holes, capacity, context))
    against(verdict, _verdict, cases)
    return f"{len(cases)} messages, at the borders and between them"


def _verdict(
    tried: float,
    free: float,
    allocated: float,
    unallocated: float,
    capacity: float,
    context: float,
) -> str:
    if tried <= free + unallocated:
        return "fragmented"
    return "outside" if tried <= capacity - context - allocated else "too large"


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

    def histories() -> list[tuple[str, History]]:
        with fake_gpu() if is_available() else nullcontext(torch.device("cpu")) as device:
            return [(what, history_of(partial(run, device), frames=False)) for what, run in runs]

    return apart(histories)


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
