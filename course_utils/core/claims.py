"""`claim`: a sentence of the course that fails where it isn't so."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from course_utils.core import evidence, recording, running
from course_utils.core.machine import physical_cores, this_machine
from course_utils.core.measurement import OTHERS_BOUND, Measurement, format_ratio

ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_held: list[evidence.Row] = []


class ClaimError(AssertionError):
    """A claim that didn't hold, with what was measured."""


def claim(
    id: str,
    sentence: str,
    condition: bool | Callable[[], bool] | None = None,
    got: Any = None,
    needs: str | None = None,
    timed: Measurement | None = None,
) -> None:
    """Prints `✓ sentence` where `condition` holds, or raises ClaimError with `got`.

    Recorded evidence and reports know a claim by its `id`, so the sentence may be reworded: two
    to four words of the field, joined by hyphens, that no other claim of the chapter has. A claim
    made for several cases, in a loop, held where all of them did.
    `needs` is None, "gpu", "gpus:N" or "cores:N". On a machine without them nothing is tested, a
    callable condition isn't called, and the line says on which recorded machine the claim held,
    if any.
    `got` is shown as it is; measured values carry their ≈. `timed` is the measurement that the
    condition rests on: where it fails and other programs were busy meanwhile, the claim is left
    undecided, in a line that says so.

    Raises: ValueError for an id or a need that isn't one, TypeError for a condition that is
    missing or neither True nor False.
    """
    _require_id(id)
    if condition is None:
        raise TypeError(f"a claim's condition is True or False: claim({id!r}, …) has none")
    missing = _missing(needs)
    row = {"id": id, "claim": sentence, "needs": needs}
    if missing:
        running.note("claim", **row, outcome="not tested here")
        print(f"– {sentence}: not tested here ({missing} needed; {_held_on(id)})")
        return
    holds = _truth(condition() if callable(condition) else condition)
    shown = "" if got is None else f" ({got})"
    if not holds and timed and (timed.others or 0) > OTHERS_BOUND:
        running.note("claim", **row, outcome="not decided")
        busy = format_ratio(timed.others or 0)
        print(f"– {sentence}: not decided, other programs took {busy} cores")
        return
    _remember(row | {"held": holds})
    running.note("claim", **row, outcome="held" if holds else "failed")
    if not holds:
        raise ClaimError(f"✗ {sentence}{shown}")
    print(f"✓ {sentence}{shown}")


@contextmanager
def refuses(id: str, sentence: str, *errors: type[Exception]) -> Iterator[None]:
    """The claim that the block ends in one of these errors, which is printed and goes no further.

    Another error goes on as it is; a block that ends well is a ClaimError.
    """
    _require_id(id)
    try:
        yield
    except errors as error:
        claim(id, sentence, True, got=f"{type(error).__name__}: {error}")
    else:
        claim(id, sentence, False, got="no error")


def _require_id(id: str) -> None:
    if not isinstance(id, str) or not ID.fullmatch(id):
        raise ValueError(
            "a claim begins with its id, two to four lower-case words joined by hyphens, then "
            f"comes its sentence: claim('launch-returns-first', 'the launch …', …), not {id!r:.60}"
        )


def _truth(found: Any) -> bool:
    """True or False, numpy's and torch's too; what merely isn't empty is no answer to a claim."""
    plain = found.item() if hasattr(found, "item") and getattr(found, "size", 1) != 0 else found
    if not isinstance(plain, bool):
        raise TypeError(f"a claim's condition is True or False, not {found!r:.60}")
    return plain


def _missing(needs: str | None) -> str:
    """What `needs` asks for and this machine hasn't, in words; nothing where it has all."""
    if needs is None:
        return ""
    kind, _, number = needs.partition(":")
    count = int(number) if number.isdigit() else 1
    if needs == "gpu" or (kind == "gpus" and number.isdigit()):
        wanted = "a GPU is" if count == 1 else f"{count} GPUs are"
        return wanted if len(this_machine().gpus) < count else ""
    if kind == "cores" and number.isdigit():
        return f"{count} physical cores are" if physical_cores() < count else ""
    raise ValueError(f"needs is 'gpu', 'gpus:2', 'cores:2' or None, not {needs!r}")


def _remember(row: evidence.Row) -> None:
    """Keeps the claims of this run as one experiment, while recording is on."""
    _held.append(row)
    if os.environ.get(recording.RECORD_TO) and os.environ.get(evidence.CHAPTER):
        recording.record("claims", _held)


def _held_on(id: str) -> str:
    if not os.environ.get(evidence.CHAPTER):
        return "no recording"
    found = evidence.recorded("claims")
    rows = [row for row in found.rows if row["id"] == id] if found else []
    if not found or not rows:
        return "no machine has recorded it yet"
    verb = "held" if all(row["held"] for row in rows) else "FAILED"
    return f"{verb} on {found.machine}, {found.date[:10]}"
