"""`claim` and `follows`: print a sentence of the course if it holds, raise an error if not."""

import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from course_utils.core import evidence, recording, running
from course_utils.core.machine import physical_cores, this_machine
from course_utils.core.measurement import OTHERS_BOUND, Measurement, format_ratio, format_seconds

# ---- A value compared with its bounds.


@dataclass(frozen=True)
class Bounded:
    """A number with a lower bound, an upper bound, or both.

    `is_exact` means that it isn't measured: every run gives the same digits.
    """

    value: float
    above: float | None
    below: float | None
    is_exact: bool = False
    in_seconds: bool = False

    @classmethod
    def of(cls, found: Any, above: Any, below: Any, is_exact: bool = False) -> "Bounded":
        """Makes one from a Measurement or a number, numpy's and torch's included; an int is exact.

        Raises: TypeError for anything else.
        """
        value, low, high = _number(found), above, below
        return cls(
            value,
            None if low is None else _number(low),
            None if high is None else _number(high),
            is_exact or isinstance(found, int),
            isinstance(found, Measurement) and found.unit == "seconds",
        )

    @property
    def holds(self) -> bool:
        """True strictly inside the bounds; False for NaN."""
        return (self.above is None or self.value > self.above) and (
            self.below is None or self.value < self.below
        )

    @property
    def margin(self) -> float | None:
        """By which factor the looser bound could be tighter; None if no bound is above 0.

        2 means that the claim would hold with twice the lower bound, or half the upper one.
        """
        ratios = []
        if self.above is not None and self.above > 0 and self.value > 0:
            ratios.append(self.value / self.above)
        if self.below is not None and self.below > 0 and self.value > 0:
            ratios.append(self.below / self.value)
        return max(ratios, default=None)

    def __str__(self) -> str:
        """`≈ 12 > 3, margin ≈ 4`; if it doesn't hold, `≈ 2, wanted > 3`."""
        low = "" if self.above is None else self._write(self.above)
        high = "" if self.below is None else self._write(self.below)
        mark = "" if self.is_exact else "≈ "
        value = self._write(self.value)
        if value in (low, high):
            value = f"{self.value:.7g}"
        if not self.holds:
            wanted = " and ".join([f"> {low}"] * bool(low) + [f"< {high}"] * bool(high))
            return f"{mark}{value}, wanted {wanted}"
        before = f"{low} < " if low and high else ""
        after = f" < {high}" if high else f" > {low}"
        text = f"{before}{mark}{value}{after}"
        return text if self.margin is None else f"{text}, margin {mark}{self.margin:.3g}"

    def _write(self, value: float) -> str:
        if self.is_exact:
            return f"{value:,.4f}".rstrip("0").rstrip(".") if 1 <= value < 1e6 else f"{value:.4g}"
        return (format_seconds(value) if self.in_seconds else format_ratio(value))[2:]


def scalar(found: Any) -> Any:
    """Converts a single numpy or torch number to Python's; returns anything else unchanged."""
    try:
        return found.item()
    except (AttributeError, ValueError, RuntimeError):
        return found


def _number(found: Any) -> float:
    if isinstance(found, Measurement):
        return found.median
    plain = scalar(found)
    if isinstance(plain, bool) or not isinstance(plain, (int, float)):
        raise TypeError(f"a claim with a bound needs a number, not {found!r:.60}")
    return plain


TESTED = "✓"  # in this run
FOLLOWS = "∴"  # from published or recorded figures, or by arithmetic
ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_held: list[evidence.Row] = []


class Guarded(Protocol):
    """Anything with `others`: CPU cores that other programs used while it was measured."""

    @property
    def others(self) -> float | None: ...


class ClaimError(AssertionError):
    """A claim doesn't hold; the message has the measured value."""


def claim(
    id: str,
    sentence: str,
    condition: Any = None,
    got: Any = None,
    needs: str | None = None,
    timed: Guarded | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
) -> None:
    """Prints `✓ sentence` if `condition` holds, or raises ClaimError with the value found.

    `condition` is True or False, or a number with bounds, `above`, `below` or both; then the line
    shows the number, its bound and the **margin**, how many times tighter the bound could be. A
    margin over 2 means that the bound is loose. A callable is called, and may return either.

    `id` is two to four words of the field, joined by hyphens, unique in the chapter. Recordings and
    reports refer to it, so the sentence may be reworded. A claim made in a loop, for several cases,
    counts as held if all of them held.
    `needs` is None, "gpu", "gpus:N" or "cores:N". A machine without them tests nothing, doesn't
    call a callable, and prints on which recorded machine the claim held, if any.
    `got` is shown unchanged; mark measured values in it with ≈. `timed` is the measurement behind
    a condition that isn't itself a Measurement or a ratio of two: anything with `others`, the CPU
    cores that other programs used meanwhile. If a claim fails while other programs were busy, it
    is left undecided, and the line says so.

    ✓ means tested in this run. Use `follows` for a sentence that is derived from other people's
    figures or by arithmetic.

    Raises: ValueError for a malformed id or need; TypeError for a condition that is missing,
    neither True nor False, or not a number although there is a bound.
    """
    _require_id(id)
    if condition is None:
        raise TypeError(f"a claim's condition is True or False: claim({id!r}, …) has none")
    missing = _missing(needs)
    row = {"id": id, "claim": sentence, "needs": needs}
    if missing:
        running.note("claim", **row, mark=TESTED, outcome="not tested here")
        print(f"– {sentence}: not tested here ({missing} needed; {_held_on(id)})")
        return
    found = condition() if callable(condition) else condition
    holds, shown, margin = _judged(found, above, below, got)
    others = max(getattr(one, "others", None) or 0 for one in (found, timed))
    if not holds and others > OTHERS_BOUND:
        running.note("claim", **row, mark=TESTED, outcome="not decided")
        print(f"– {sentence}: not decided, other programs took {format_ratio(others)} cores")
        return
    _remember(row | {"held": holds})
    _say(TESTED, row, holds, shown, margin)


def follows(
    id: str,
    sentence: str,
    condition: Any,
    got: Any = None,
    *,
    above: float | None = None,
    below: float | None = None,
) -> None:
    """Prints `∴ sentence` if `condition` holds, or raises ClaimError.

    For a sentence that is derived from published or recorded figures, or by arithmetic: nothing is
    tested on this machine. Its arguments are those of `claim`; numbers are exact and have no ≈.
    """
    _require_id(id)
    if hasattr(condition, "others"):
        raise TypeError(f"{id} was measured here: that is a claim's, not what follows")
    holds, shown, margin = _judged(condition, above, below, got, is_exact=True)
    row = {"id": id, "claim": sentence, "needs": None}
    _say(FOLLOWS, row, holds, shown, margin)


def _judged(
    found: Any, above: float | None, below: float | None, got: Any, is_exact: bool = False
) -> tuple[bool, str, float | None]:
    """Returns True if the claim holds, the details to print after it, and its margin."""
    if above is None and below is None:
        holds, bound, margin = _truth(found), None, None
    else:
        bounded = Bounded.of(found, above, below, is_exact)
        holds, bound, margin = bounded.holds, str(bounded), bounded.margin
    shown = "; ".join(str(part) for part in (got, bound) if part is not None)
    return holds, f" ({shown})" if shown else "", margin


def _say(mark: str, row: evidence.Row, holds: bool, shown: str, margin: float | None) -> None:
    outcome = "held" if holds else "failed"
    running.note("claim", **row, mark=mark, outcome=outcome, margin=margin)
    if not holds:
        raise ClaimError(f"✗ {row['claim']}{shown}")
    print(f"{mark} {row['claim']}{shown}")


@contextmanager
def refuses(id: str, sentence: str, *errors: type[Exception]) -> Iterator[None]:
    """Claims that the block raises one of these errors; prints the first line of its message.

    Catches that error and no other. Raises ClaimError if the block raises nothing.
    """
    _require_id(id)
    try:
        yield
    except errors as error:
        traceback.clear_frames(error.__traceback__)  # frees what the block's variables hold
        said = str(error).partition("\n")[0]
        claim(id, sentence, True, got=f"{type(error).__name__}: {said}")
    else:
        claim(id, sentence, False, got="no error")


def _require_id(id: str) -> None:
    if not isinstance(id, str) or not ID.fullmatch(id):
        raise ValueError(
            "a claim begins with its id, two to four lower-case words joined by hyphens, then "
            f"comes its sentence: claim('launch-returns-first', 'the launch …', …), not {id!r:.60}"
        )


def _truth(found: Any) -> bool:
    """The condition, numpy's or torch's too, as a bool. Raises: TypeError for anything else."""
    plain = scalar(found)
    if not isinstance(plain, bool):
        raise TypeError(f"a claim's condition is True or False, not {found!r:.60}")
    return plain


def _missing(needs: str | None) -> str:
    """Names the hardware that `needs` requires and this machine lacks; empty if it has it all."""
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
    """Records the claims of this run so far as one experiment, if recording is on."""
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
