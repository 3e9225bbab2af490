"""Checkers for chapter 9, "Memory snapshots"."""

import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch

from course_utils.chapters.memory_snapshots.programs import (
    growing_cache,
    large_optimizer,
    training,
)
from course_utils.lesson.answers import against, shown
from course_utils.lesson.exercises import Wrong, exercise
from course_utils.memory.fake_gpu import apart, fake_gpu, is_available
from course_utils.memory.made_snapshots import history_of
from course_utils.memory.views.pictures import draw_timeline
from snapshots_and_traces.snapshots.lives import History


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
