"""Checkers for chapter 16, "Beyond one machine"."""

import random
from collections.abc import Callable
from typing import Any

from course_utils.chapters.beyond_one_machine.stopped_runs import pieces, seconds_of
from course_utils.lesson.answers import against
from course_utils.lesson.exercises import exercise

RUNS = 1000
Run = tuple[list[int], int, int, int, int]


def draw_run() -> Run:
    """Stops, length, interval, seconds of a save and of a restart.

    Short and whole times, so that often two things happen in one second.
    """
    interval, save_seconds = random.randint(2, 20), random.randint(1, 8)
    restart_seconds, length = random.choice([0, *range(1, 15)]), random.randint(10, 120)
    stops = random.sample(range(1, length + 20), random.choice([0, 1, 1, 2, 3, 4, 6]))
    return sorted(stops), length, interval, save_seconds, restart_seconds


@exercise(
    "beyond_one_machine.kept_seconds",
    todo="write kept_seconds(stops, length, interval, save_seconds, restart_seconds).",
    hints=(
        "Go from stop to stop, and to length at last. After a stop, work begins at "
        "stop + restart_seconds: it may never begin, if the next stop comes before.",
        "Between a beginning and an end, (end − beginning) // (interval + save_seconds) saves are "
        "complete, and at least none. A stop after length ends nothing.",
    ),
)
def check_kept_seconds(kept_seconds: Callable[..., Any]) -> str:
    """Random runs, so many that stops, saves and restarts meet in every way."""

    def reference(
        stops: list[int], length: int, interval: int, save_seconds: int, restart_seconds: int
    ) -> float:
        run = pieces(stops, length, interval, save_seconds, restart_seconds)
        return seconds_of("kept", run)

    against(kept_seconds, reference, [draw_run() for _ in range(RUNS)])
    return f"{RUNS:,} random runs: exactly the seconds kept"


# ---- What a hanging job's Flight Recorders hold, drawn for an exercise.

NAMES = ("all_gather_into_tensor", "all_reduce", "barrier", "broadcast", "reduce_scatter_tensor")
Held = tuple[int, int, str]


def draw_hang() -> tuple[list[str], Held]:
    """Mixed lines of all ranks' records, and what they show: the rank, the number, the name.

    One rank never calls the collective, or calls it one number late and another in its place.
    """
    count, number = random.randint(3, 12), random.choice([3, 9, 10, 41, 99, 100, 1000])
    names = [f"nccl:{random.choice(NAMES)}" for _ in range(number + 3)]
    guilty, swaps = random.randrange(count), random.random() < 0.5
    other = random.choice([f"nccl:{name}" for name in NAMES if f"nccl:{name}" != names[number]])
    log = []
    for rank in range(count):
        last = number + random.randint(0, 2)
        mine = list(names)
        if rank == guilty and swaps:
            mine[number : number + 2] = other, names[number]
        elif rank == guilty:
            last = number - 1
        for one in range(number - random.randint(1, 2), last + 1):
            state = "completed" if one < number else "started" if one == number else "scheduled"
            log.append(f"[rank {rank}] {one} {mine[one]} {state}")
    random.shuffle(log)
    return log, (guilty, number, names[number])


@exercise(
    "beyond_one_machine.held_up",
    todo="write held_up(log): (rank, number, name): whom the others wait for, and in what.",
    hints=(
        "The ranks wait in the first collective that isn't complete: the smallest number, as an "
        "int, among the lines that don't end with completed.",
        "Of the lines with that number, keep the name by rank. The name that most ranks have is "
        "the collective's. Then look for the one of all ranks that doesn't have it.",
    ),
)
def check_held_up(held_up: Callable[..., Any]) -> str:
    """Random hangs of both kinds; an answer is known by how the log was made."""
    drawn = [draw_hang() for _ in range(RUNS)]
    shows = {tuple(log): held for log, held in drawn}

    def reference(log: list[str]) -> Held:
        return shows[tuple(log)]

    against(held_up, reference, [(log,) for log, _ in drawn])
    return f"{RUNS:,} logs: each time the rank that holds up the others, and their collective"
