"""`claim`: a sentence of the course that fails where it isn't so."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from course_utils.core import evidence, recording, running
from course_utils.core.machine import physical_cores, this_machine
from course_utils.core.measurement import OTHERS_BOUND, Measurement, format_ratio

_held: list[evidence.Row] = []


class ClaimError(AssertionError):
    """A claim that didn't hold, with what was measured."""


def claim(
    text: str,
    condition: bool | Callable[[], bool],
    got: Any = None,
    needs: str | None = None,
    timed: Measurement | None = None,
) -> None:
    """Prints `✓ text` where `condition` holds, or raises ClaimError with `got`.

    `needs` is None, "gpu", "gpus:N" or "cores:N". On a machine without them nothing is tested, a
    callable condition isn't called, and the line says on which recorded machine the claim held,
    if any.
    `got` is shown as it is; measured values carry their ≈. `timed` is the measurement that the
    condition rests on: where it fails and other programs were busy meanwhile, the claim is left
    undecided, in a line that says so.
    """
    missing = _missing(needs)
    if missing:
        running.note("claim", text=text, needs=needs, outcome="not tested here")
        print(f"– {text}: not tested here ({missing} needed; {_held_on(text)})")
        return
    holds = _truth(condition() if callable(condition) else condition)
    shown = "" if got is None else f" ({got})"
    if not holds and timed and (timed.others or 0) > OTHERS_BOUND:
        running.note("claim", text=text, needs=needs, outcome="not decided")
        print(f"– {text}: not decided, other programs took {format_ratio(timed.others or 0)} cores")
        return
    _remember(text, needs, holds)
    running.note("claim", text=text, needs=needs, outcome="held" if holds else "failed")
    if not holds:
        raise ClaimError(f"✗ {text}{shown}")
    print(f"✓ {text}{shown}")


@contextmanager
def refuses(text: str, *errors: type[Exception]) -> Iterator[None]:
    """The claim that the block ends in one of these errors, which is printed and goes no further.

    Another error goes on as it is; a block that ends well is a ClaimError.
    """
    try:
        yield
    except errors as error:
        claim(text, True, got=f"{type(error).__name__}: {error}")
    else:
        claim(text, False, got="no error")


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


def _remember(text: str, needs: str | None, holds: bool) -> None:
    """Keeps the claims of this run as one experiment, while recording is on."""
    _held.append({"claim": text, "needs": needs, "held": holds})
    if os.environ.get(recording.RECORD_TO) and os.environ.get(evidence.CHAPTER):
        recording.record("claims", _held)


def _held_on(text: str) -> str:
    if not os.environ.get(evidence.CHAPTER):
        return "no recording"
    found = evidence.recorded("claims")
    rows = [row for row in found.rows if row["claim"] == text] if found else []
    if not found or not rows:
        return "no machine has recorded it yet"
    verb = "held" if all(row["held"] for row in rows) else "FAILED"
    return f"{verb} on {found.machine}, {found.date[:10]}"
