"""How a reader's allocator is scored: on the course's programs, and on what a real GPU did."""

from functools import cache
from typing import Any

from course_utils.chapters.memory_snapshots.assembled_allocator import (
    Assembled,
    Impossible,
    score,
)
from course_utils.chapters.memory_snapshots.chapter_snapshots import snapshot_file
from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.chapters.memory_snapshots.published_snapshots import agreed
from course_utils.lesson.exercises import Wrong
from snapshots_and_traces.allocator.rules import CachingAllocator
from snapshots_and_traces.replay.recorded import recorded_trace
from snapshots_and_traces.replay.what_if import Program, program_of
from snapshots_and_traces.snapshots.loading import load


def all_right(**functions: Any) -> str:
    """What was tested, in words: a GPU's published snapshots, then what the course's programs
    asked for; every request must be answered as torch does. Raises: Wrong.
    """
    _same_as_a_gpu(functions)
    requests = 0
    for name in PROGRAMS:
        try:
            found = score(_recorded(name), **functions)
        except Impossible as problem:
            raise Wrong(str(problem)) from None
        if found.first:
            raise Wrong(f"{_says(found.same, found.total)} The first that differs: {found.first}")
        requests += found.total
    asked = agreed(CachingAllocator)[1]
    return (
        f"the borders of the rules, {requests:,} requests of training runs and growing caches, and "
        f"all {asked} requests that a real GPU answered (published snapshots), at its addresses"
    )


@cache
def _recorded(name: str) -> Program:
    return program_of(recorded_trace(load(snapshot_file(name))))


def _same_as_a_gpu(functions: dict[str, Any]) -> None:
    """Raises: Wrong where a real GPU's published snapshots aren't repeated, address by address."""
    try:
        same, asked = agreed(lambda driver: Assembled(**functions, driver=driver))
    except Impossible as problem:
        raise Wrong(f"on a real GPU's published snapshots: {problem}") from None
    if same < asked:
        raise Wrong(f"{same} of {asked} requests at a real GPU's addresses (published snapshots).")


def scored(**functions: Any) -> str:
    """How far a wrong answer gets, in words: where caches grow, and on a GPU's snapshots."""
    try:
        found = score(_recorded("snapshot_fragmented"), **functions)
        same, asked = agreed(lambda driver: Assembled(**functions, driver=driver))
    except Exception:
        return "With it, the allocator doesn't get through growing caches."
    gpu = f"{same} of {asked} at a real GPU's addresses (published snapshots)."
    return f"{_says(found.same, found.total)} {gpu}"


def _says(same: int, total: int) -> str:
    return f"Your allocator answers {same:,} of {total:,} requests as the real one does."
