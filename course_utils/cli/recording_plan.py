"""`make record`: the chapters in a fixed order, for as long as there is time.

data/recording_plan.json lists the chapters, those whose recordings are worth most for their time
first; about how many seconds each takes on a CPU, and how many more on an H100; and what an
experiment needs that not every machine has: GPUs, their capability, one of several programs.
"""

import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.cli import notebooks
from course_utils.core import evidence, recording
from course_utils.core.machine import this_machine

MARGIN_SECONDS = 10  # to end a run: the kernel is closed, a kit's archive is written
UNLISTED_SECONDS = 60  # of a chapter that the plan doesn't list: it comes last


@dataclass(frozen=True)
class Visit:
    """A chapter, about how long it takes here, and why each experiment is to be measured.

    `to_do` has a reason for each experiment that this machine can do and hasn't done.
    """

    path: Path
    seconds: float
    to_do: dict[str, str]

    def __str__(self) -> str:
        reasons = Counter(self.to_do.values()).items()
        state = ", ".join(f"{count} {reason}" for reason, count in reasons)
        return f"{self.path.stem:<30} ≈ {self.seconds:3.0f} s   {state or 'all recorded'}"


def plan(chapters: Sequence[Path], to: Path, again: bool = False) -> list[Visit]:
    """A visit of each chapter, in the order of data/recording_plan.json.

    With `again`, what is recorded below `to` is measured once more.
    """
    order = {stem: place for place, stem in enumerate(_planned())}
    in_order = sorted(chapters, key=lambda path: order.get(path.stem, len(order)))
    return [_visit(path, to, again) for path in in_order]


def recordable(chapter: str, capabilities: Sequence[tuple[int, int]]) -> list[str]:
    """The experiments of a chapter that GPUs of these capabilities and PATH suffice for."""
    needs = _planned().get(chapter, {}).get("needs", {})

    def suffices(
        gpus: int = 0, capability: Sequence[int] = (), programs: Sequence[str] = ()
    ) -> bool:
        able = [found for found in capabilities if found >= tuple(capability)]
        return len(able) >= gpus and (not programs or any(map(shutil.which, programs)))

    return [name for name in evidence.experiments()[chapter] if suffices(**needs.get(name, {}))]


def _planned() -> dict[str, Any]:
    return evidence.data("recording_plan.json")


def _visit(path: Path, to: Path, again: bool) -> Visit:
    machine = this_machine()
    planned = _planned().get(path.stem, {})
    seconds = planned.get("seconds", UNLISTED_SECONDS)
    seconds += planned.get("gpu_seconds", 0) if machine.gpus else 0
    names = recordable(path.stem, [gpu.capability for gpu in machine.gpus])
    folder = to / machine.slug / path.stem
    reasons = {name: "to do again" if again else _reason(folder, name) for name in names}
    return Visit(path, seconds, {name: reason for name, reason in reasons.items() if reason})


def _reason(folder: Path, name: str) -> str:
    """Why an experiment is to be measured; empty where this page recorded all of it."""
    path = folder / f"{name}.json"
    if not path.exists():
        return "missing"
    try:
        content = evidence.read_recording(path, evidence.find_experiment(f"{folder.name}/{name}"))
    except evidence.EvidenceError:
        return "of another version, or damaged"
    if content.get("missing_rows"):
        return "unfinished"
    is_current = content.get("code") == recording.code_of(content["chapter"])
    return "" if is_current else "older than the page"


def in_words(visits: Sequence[Visit], minutes: float | None) -> str:
    """The plan in words: each chapter in order, with its estimate."""
    to_do = [visit for visit in visits if visit.to_do]
    total = sum(visit.seconds for visit in to_do) / 60
    given = f", of which you give {minutes:g}" if minutes else ""
    title = f"On {this_machine().title}: {len(to_do)} chapters to record, ≈ {total:.0f} min{given}."
    return "\n".join([title, *(f"  {visit}" for visit in visits)])


def make(visits: Sequence[Visit], to: Path, minutes: float | None = None) -> bool:
    """Runs what there is to do, says what was kept and what is left; True where a cell failed.

    Each experiment is kept as soon as it is measured. With `minutes`, a chapter whose estimate is
    longer than what is left isn't begun, and one that still runs when they are over is stopped.
    """
    end = time.time() + 60 * minutes - MARGIN_SECONDS if minutes else None
    to_do = [visit for visit in visits if visit.to_do]
    failed = False
    for place, visit in enumerate(to_do, 1):
        left = max(end - time.time(), 0) if end else float("inf")
        about = f"≈ {visit.seconds:.0f} s"
        if visit.seconds > left:
            notebooks.say(f"{visit.path.stem} isn't begun: it takes {about}, {left:.0f} are left")
            continue
        notebooks.say(f"Recording {visit.path.stem} ({place} of {len(to_do)}, {about})")
        for problem in notebooks.record(visit.path, to, end):
            is_error = problem != notebooks.TIME_IS_UP
            failed = failed or is_error
            notebooks.say(f"  {'✗' if is_error else '–'} {problem}")
    left_over = [visit for visit in plan([v.path for v in visits], to) if visit.to_do]
    for visit in left_over:
        notebooks.say(f"Left: {visit.path.stem}: {', '.join(visit.to_do)}")
    notebooks.say("The same command goes on with that." if left_over else "Nothing is left to do.")
    return failed
