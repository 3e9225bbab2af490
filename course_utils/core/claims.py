"""`claim` and `follows`: sentences of the course that fail where they aren't so."""

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

# ---- A value held against a bound: whether it keeps to it, by how much, and in which words.


@dataclass(frozen=True)
class Bounded:
    """A number that has to lie above one bound, below another, or between both.

    `is_exact` says that it is no measurement: its digits are those of every run.
    """

    value: float
    above: float | None
    below: float | None
    is_exact: bool = False
    in_seconds: bool = False

    @classmethod
    def of(cls, found: Any, above: Any, below: Any, is_exact: bool = False) -> "Bounded":
        """From a number, numpy's and torch's too, or a Measurement; an int is exact by itself.

        Raises: TypeError for what is no number.
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
        """Strictly on the right side of each bound; NaN is on neither."""
        return (self.above is None or self.value > self.above) and (
            self.below is None or self.value < self.below
        )

    @property
    def margin(self) -> float | None:
        """How many times tighter the looser bound could be; None where no ratio says so.

        2 means that the claim would hold with twice the lower bound, or half the upper one.
        """
        ratios = []
        if self.above is not None and self.above > 0 and self.value > 0:
            ratios.append(self.value / self.above)
        if self.below is not None and self.below > 0 and self.value > 0:
            ratios.append(self.below / self.value)
        return max(ratios, default=None)

    def __str__(self) -> str:
        """`≈ 12 > 3, margin ≈ 4`, or what was wanted where it doesn't hold."""
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
    """A single number of numpy's or torch's as Python's own; anything else as it is."""
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


TESTED, FOLLOWS = "✓", "∴"  # here a moment ago; from published or recorded figures, or arithmetic
ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_held: list[evidence.Row] = []


class Guarded(Protocol):
    """What knows how many processors other programs took while it was made: a Measurement, say."""

    @property
    def others(self) -> float | None: ...


class ClaimError(AssertionError):
    """A claim that didn't hold, with what was measured."""


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
    """Prints `✓ sentence` where `condition` holds, or raises ClaimError with what was found.

    `condition` is True or False, or a number that has to lie `above` one bound, `below` another,
    or between both: then the line shows it with its bound, and its **margin**, how many times
    tighter the bound could be. A claim whose margin is over 2 says less than it could. A callable
    is called for either.

    Recorded evidence and reports know a claim by its `id`, so the sentence may be reworded: two
    to four words of the field, joined by hyphens, that no other claim of the chapter has. A claim
    made for several cases, in a loop, held where all of them did.
    `needs` is None, "gpu", "gpus:N" or "cores:N". On a machine without them nothing is tested, a
    callable condition isn't called, and the line says on which recorded machine the claim held,
    if any.
    `got` is shown as it is; measured values carry their ≈. `timed` is the measurement that the
    condition rests on, where it isn't itself one, or a ratio of two (anything with `others` will
    do: how many processors other programs took meanwhile): where the claim fails and
    other programs were busy meanwhile, it is left undecided, in a line that says so.

    ✓ is for what was tested here a moment ago; what follows from other people's figures or from
    arithmetic is said by `follows`.

    Raises: ValueError for an id or a need that isn't one, TypeError for a condition that is
    missing, neither True nor False, or no number where there is a bound.
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
    """Prints `∴ sentence`, or raises ClaimError: what follows from figures that others measured or
    printed, from recorded ones, or from arithmetic.

    Nothing was tested on this machine, and the mark says so. All else is as in `claim`; numbers
    are exact, so they carry no ≈.
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
    """Whether it holds, what the line shows of it, its margin."""
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
    """The claim that the block ends in one of these errors, whose message's first line is printed.

    The error goes no further. Another one goes on as it is; a block that ends well is a
    ClaimError.
    """
    _require_id(id)
    try:
        yield
    except errors as error:
        traceback.clear_frames(error.__traceback__)  # what the block held is let go, here and now
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
    """True or False, numpy's and torch's too; what merely isn't empty is no answer to a claim."""
    plain = scalar(found)
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
