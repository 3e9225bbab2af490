"""How a reader's allocator is scored: on training runs, and on what a real GPU did."""

import random
from typing import Any

from course_utils.chapters.memory_snapshots.assembled_allocator import (
    Assembled,
    Impossible,
    score,
)
from course_utils.chapters.memory_snapshots.published_snapshots import agreed
from course_utils.chapters.memory_snapshots.training_stream import Shape, training_program
from course_utils.lesson.exercises import Wrong
from course_utils.memory.allocator.rules import CachingAllocator


def all_right(**functions: Any) -> str:
    """What was tested, in words: a GPU's published snapshots, then training runs of other shapes
    at each try; every request must be answered as torch does. Raises: Wrong.
    """
    _same_as_a_gpu(functions)
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
    asked = agreed(CachingAllocator)[1]
    return (
        f"the borders of the rules, {requests:,} requests of two training runs, and all {asked} "
        "requests that a real GPU answered (published snapshots), at its addresses"
    )


def _same_as_a_gpu(functions: dict[str, Any]) -> None:
    """Raises: Wrong where a real GPU's published snapshots aren't repeated, address by address."""
    try:
        same, asked = agreed(lambda driver: Assembled(**functions, driver=driver))
    except Impossible as problem:
        raise Wrong(f"on a real GPU's published snapshots: {problem}") from None
    if same < asked:
        raise Wrong(f"{same} of {asked} requests at a real GPU's addresses (published snapshots).")


def scored(**functions: Any) -> str:
    """How far a wrong answer gets, in words: in a training run, and on a GPU's snapshots."""
    try:
        found = score(training_program(), **functions)
        same, asked = agreed(lambda driver: Assembled(**functions, driver=driver))
    except Exception:
        return "With it, the allocator doesn't get through a training run."
    gpu = f"{same} of {asked} at a real GPU's addresses (published snapshots)."
    return f"{_says(found.same, found.total)} {gpu}"


def _says(same: int, total: int) -> str:
    return f"Your allocator answers {same:,} of {total:,} requests as the real one does."
