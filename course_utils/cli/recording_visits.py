"""`make record`: the chapters of a plan, one after the other, for as long as there is time."""

import time
from pathlib import Path

from course_utils.cli import notebooks, recording_plan
from course_utils.cli.recording_plan import MARGIN_SECONDS, Visit

say = notebooks.say


def make(visits: list[Visit], to: Path, minutes: float | None = None) -> bool:
    """Runs what there is to do, says what was kept and what is left; True where a cell failed.

    Each experiment is kept as soon as it is measured. With `minutes`, a chapter whose estimate is
    longer than what is left isn't begun, and one that still runs when they are over is stopped.
    """
    end = time.time() + 60 * minutes - MARGIN_SECONDS if minutes else None
    to_do = [visit for visit in visits if visit.to_do]
    failed = False
    for place, visit in enumerate(to_do, 1):
        left = end - time.time() if end else float("inf")
        if visit.seconds > left:
            needed = f"it takes ≈ {visit.seconds:.0f} s, {left:.0f} are left"
            say(f"{visit.path.stem} isn't begun: {needed}")
            continue
        say(f"Recording {visit.path.stem} ({place} of {len(to_do)}, ≈ {visit.seconds:.0f} s)")
        failed = _record(visit, to, end) or failed
    _say_what_is_left(visits, to)
    return failed


def _record(visit: Visit, to: Path, end: float | None) -> bool:
    start = time.time()
    problems = notebooks.record(visit.path, to, end)
    for problem in problems:
        say(f"  {'–' if problem == notebooks.TIME_IS_UP else '✗'} {problem}")
    missing = [e.name for e in _now(visit, to).to_do]
    kept = len(visit.experiments) - len(missing)
    without = f", without {', '.join(missing)}" if missing else ""
    say(f"  {kept} experiments are kept after {time.time() - start:.0f} s{without}")
    return bool(set(problems) - {notebooks.TIME_IS_UP})


def _now(visit: Visit, to: Path) -> Visit:
    (found,) = recording_plan.plan([visit.path], to)
    return found


def _say_what_is_left(visits: list[Visit], to: Path) -> None:
    left = [visit for visit in (_now(visit, to) for visit in visits) if visit.to_do]
    for visit in left:
        say(f"Left: {visit.path.stem}: {', '.join(e.name for e in visit.to_do)}")
    say("The same command goes on with that." if left else "Nothing is left to record here.")
