"""Runs that are stopped now and then, drawn for an exercise, and what happens at their edges."""

import random
from dataclasses import astuple, dataclass

from course_utils.chapters.beyond_one_machine.stopped_runs import Piece, pieces

EDGES = (
    "no stop",
    "a stop cuts computing",
    "a stop cuts a save",
    "a stop cuts a restart",
    "a save ends as a stop comes",
    "a restart ends as a stop comes",
    "several saves between two stops",
    "a save ends at the length",
    "the length cuts a save",
    "the length cuts a restart",
    "a stop at the length",
    "a stop after the length",
    "a restart takes no time",
)


@dataclass(frozen=True)
class StoppedRun:
    """A run as the exercise gives it, in whole seconds."""

    stops: list[int]
    length: int
    interval: int
    save_seconds: int
    restart_seconds: int

    def pieces(self) -> list[Piece]:
        return pieces(*astuple(self))

    def __str__(self) -> str:
        return (
            f"stops {self.stops}, length {self.length}, interval {self.interval}, a save of "
            f"{self.save_seconds}, a restart of {self.restart_seconds}"
        )


def draw_run() -> StoppedRun:
    """Short and whole times, so that often two things happen in one second."""
    interval, save_seconds = random.randint(2, 20), random.randint(1, 8)
    restart_seconds, length = random.choice([0, *range(1, 15)]), random.randint(10, 120)
    stops = random.sample(range(1, length + 20), random.choice([0, 1, 1, 2, 3, 4, 6]))
    return StoppedRun(sorted(stops), length, interval, save_seconds, restart_seconds)


def edges_of(run: StoppedRun) -> set[str]:
    """Which of `EDGES` a run has."""
    found = run.pieces()
    edges = {_end_of(piece, run) for piece in found}
    work = [piece.kind for piece in found]
    facts = {
        "no stop": not run.stops,
        "several saves between two stops": any(
            work[at : at + 4] == ["kept", "saving"] * 2 for at in range(len(work))
        ),
        "a stop at the length": run.length in run.stops,
        "a stop after the length": any(stop > run.length for stop in run.stops),
        "a restart takes no time": bool(run.stops) and run.restart_seconds == 0,
    }
    return (edges & set(EDGES)) | {edge for edge, is_so in facts.items() if is_so}


def _end_of(piece: Piece, run: StoppedRun) -> str:
    """The edge at which a piece ends, in words; "" where nothing cuts it."""
    full = {"saving": run.save_seconds, "restarting": run.restart_seconds}.get(piece.kind)
    is_whole = piece.end - piece.start == full
    name = {"saving": "a save", "restarting": "a restart"}.get(piece.kind, "computing")
    if piece.end == run.length:
        return f"{name} ends at the length" if is_whole else f"the length cuts {name}"
    if piece.end in run.stops:
        return f"{name} ends as a stop comes" if is_whole else f"a stop cuts {name}"
    return ""
