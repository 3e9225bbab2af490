"""What an answer gave, as plain numbers and lists, whichever library made it; NaN is neither.

Checkers compare what comes out of here. `error > bound` lets NaN pass, since no comparison with
NaN is true: ask whether two numbers are `close` instead.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from numbers import Real
from typing import Any

from course_utils.lesson.exercises import Wrong

MOST = 1_000_000  # entries; a generator may never end
SHOWN = 60  # characters of an answer in a message


def as_number(value: Any) -> float:
    """A number as Python's own: an int stays one, infinity too.

    NumPy's and torch's count, and so do their arrays of one entry. True and False are no numbers.
    Raises: Wrong for anything else, and for NaN.
    """
    plain = _plain(value)
    while plain is not value and isinstance(plain, list) and len(plain) == 1:
        plain = plain[0]
    if not isinstance(plain, bool) and (isinstance(plain, Real) or hasattr(plain, "__float__")):
        number = plain if isinstance(plain, int) else float(plain)
        if number == number:
            return number
        raise Wrong("your function returned nan, want a number")
    raise Wrong(f"you return {shown(value)}, want a number")


def as_numbers(values: Any, count: int | None = None) -> list[float]:
    """The numbers of a list, a tuple, an array, a tensor, a generator, or of anything like them.

    Raises: Wrong where one is NaN or no number, or where they aren't `count`.
    """
    found = [as_number(one) for one in as_list(values)]
    if count is not None and len(found) != count:
        raise Wrong(f"you return {len(found)} numbers, want {count}")
    return found


def as_list(values: Any, want: str = "a list") -> list[Any]:
    """The entries of an array, a tensor, or anything iterable; those of an array are lists again.

    Neither a text nor a dictionary is a list; a dictionary's keys or items are.
    Raises: Wrong for what can't be gone through, or doesn't end; its message says `want`.
    """
    plain = _plain(values)
    if not isinstance(plain, Iterable) or isinstance(plain, str | bytes | Mapping):
        raise Wrong(f"you return {shown(values)}, want {want}")
    found = list(islice(plain, MOST + 1))
    if len(found) > MOST:
        raise Wrong(f"you return more than {MOST:,} entries: does it ever end?")
    return found


def close(got: float, want: float, rel_tol: float = 1e-6, abs_tol: float = 0.0) -> bool:
    """Whether `got` is within `rel_tol · |want|` or `abs_tol` of `want`. NaN is close to nothing.

    The bound is a part of `want` alone, so that a huge answer isn't measured by itself.
    """
    return got == want or abs(got - want) <= max(rel_tol * abs(want), abs_tol) < math.inf


def shown(value: Any) -> str:
    """An answer in a message: its representation, cut where it is long."""
    try:
        text = repr(value)
    except Exception:
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _plain(value: Any) -> Any:
    """What torch and NumPy hold, as Python's numbers and lists; anything else as it is."""
    return value.tolist() if callable(getattr(type(value), "tolist", None)) else value
