"""The reader's progress on this machine, in one small file that is sent nowhere.

The file is `.progress.json` in the course's folder, or the one that COURSE_PROGRESS names. It is
written whole or not at all; if it can't be written, nothing is kept and nothing fails.
"""

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import msgspec

from course_utils.core import files
from course_utils.core.running import is_attended
from course_utils.lesson import catalog

FILE = "COURSE_PROGRESS"
WAIT_SECONDS = 1  # for other kernels, each of which needs milliseconds
NOWHERE = "Nothing leaves this machine. To forget it: python -m course_utils progress --clear"


class Foreseen(msgspec.Struct):
    """A question whose answer the reader predicted, and whether the first guess came near."""

    id: str
    near: bool


class Kept(msgspec.Struct):
    """The progress: ids of cells by chapter, exercises passed, predictions made, and the questions
    whose answers were shown before a guess.
    """

    cells: dict[str, list[str]] = {}
    passed: list[str] = []
    predicted: list[Foreseen] = []
    seen: list[str] = []


def path() -> Path:
    """The file that keeps the progress."""
    named = os.environ.get(FILE)
    return Path(named).expanduser() if named else files.ROOT / ".progress.json"


def is_kept() -> bool:
    """True if this run keeps progress: a person watches, or COURSE_PROGRESS names a file."""
    return bool(os.environ.get(FILE)) or is_attended()


def read() -> Kept:
    """Reads the file; empty progress if there is none, or if it is broken."""
    try:
        return msgspec.json.decode(path().read_bytes(), type=Kept)
    except (OSError, msgspec.DecodeError):
        return Kept()


def ran_cell(chapter: str, cell: str) -> None:
    """Records that a cell of a chapter ran without an error."""

    if cell not in read().cells.get(chapter, []):
        _change(lambda kept: kept.cells.setdefault(chapter, []).append(cell))


def passed(exercise: str) -> None:
    """Records a right answer to an exercise."""
    if exercise not in read().passed:
        _change(lambda kept: kept.passed.append(exercise))


def is_seen(question: str) -> bool:
    """True if the question's answer was shown here before a guess was made."""
    return question in read().seen


def saw(question: str) -> None:
    """Records that the answer was shown before a guess was made."""
    if not is_seen(question) and is_kept():
        _change(lambda kept: kept.seen.append(question))


def predicted(question: str, near: bool) -> None:
    """Records whether a guess came near; the first guess at each question counts."""

    def add(kept: Kept) -> None:
        if question not in (one.id for one in kept.predicted):
            kept.predicted.append(Foreseen(question, near))

    _change(add)


def clear() -> None:
    """Forgets everything. Raises: OSError if the file can't be removed."""
    path().unlink(missing_ok=True)
    _lock_path().unlink(missing_ok=True)


def is_run(kept: Kept, chapter: catalog.Chapter) -> bool:
    """True if every cell before the exercises has been run, in one session or several."""
    wanted = chapter.cells_before_the_exercises()
    return bool(wanted) and set(wanted) <= set(kept.cells.get(chapter.stem, []))


def report() -> str:
    """A line for each chapter: cells run, exercises passed, predictions near."""
    if not is_kept():
        return "Run this cell to see yours: this output is of a run without a reader."
    kept = read()
    lines = [_line(kept, chapter) for chapter in catalog.chapters()]
    return "\n".join([*lines, "", _where()])


def count_near(kept: Kept, questions: Collection[str]) -> tuple[int, int]:
    """Counts the questions that were predicted, and the predictions that came near."""
    of_these = [one for one in kept.predicted if one.id in questions]
    return len(of_these), sum(one.near for one in of_these)


def _line(kept: Kept, chapter: catalog.Chapter) -> str:
    wanted, exercises = chapter.cells_before_the_exercises(), chapter.exercises()
    ran = len(set(wanted) & set(kept.cells.get(chapter.stem, [])))
    right = len(set(exercises) & set(kept.passed))
    done = ran == len(wanted) and right == len(exercises)
    mark = "✓" if done else "…" if ran or right else "–"
    made, near = count_near(kept, chapter.predictions())
    counts = f"{ran} of {len(wanted)} cells, {right} of {len(exercises)} exercises"
    counts += f", {near} of {made} predictions near" if made else ""
    return f"{mark} {chapter.number} · {chapter.title:<28} {counts}"


def _where() -> str:
    folder = path().parent
    if folder.is_dir() and os.access(folder, os.W_OK):
        return f"Kept in {path().name}. {NOWHERE}"
    return f"{path().name} can't be written here, so progress isn't kept; all else works."


def _change(change: Callable[[Kept], None]) -> None:
    """Reads, changes and writes the file under a lock; does nothing if it can't."""
    if not is_kept():
        return
    from filelock import FileLock

    lock = FileLock(_lock_path(), timeout=WAIT_SECONDS)
    with suppress(OSError, NotImplementedError), lock:
        kept = read()
        change(kept)
        kept.cells = {stem: sorted(set(ids)) for stem, ids in sorted(kept.cells.items())}
        kept.passed = sorted(set(kept.passed))
        text = msgspec.json.format(msgspec.json.encode(kept), indent=1)
        files.write_whole(path(), text + b"\n")


def _lock_path() -> Path:
    return path().with_suffix(".lock")
