"""How well a reader foresees: how often within 2 times, how far off, and whether it gets better."""

import math
import statistics
from collections.abc import Collection, Sequence
from typing import Any

from course_utils.core.guesses import NEAR

Kept = dict[str, Any]  # id, near, factor (None where no factor says how far off)
ENOUGH = 8  # guesses, of which the first half is compared with the second


def checked(found: Any) -> Kept:
    """One kept guess. Raises: ValueError, KeyError, TypeError for what isn't one."""
    id, near, factor = str(found["id"]), found["near"], found["factor"]
    if not isinstance(near, bool) or not (factor is None or 1 <= float(factor) < math.inf):
        raise ValueError(f"{found!r:.60} is no kept guess")
    return {"id": id, "near": near, "factor": factor}


def count(kept: Sequence[Kept], questions: Collection[str]) -> tuple[int, int]:
    """Of some questions: how many were predicted, and how many of these came near."""
    of_these = [one for one in kept if one["id"] in questions]
    return len(of_these), sum(one["near"] for one in of_these)


def in_words(kept: Sequence[Kept]) -> str:
    """A sentence or two on all guesses, in the order in which they were answered."""
    if not kept:
        return "No predictions yet: write one in place of `...`, and it is kept how near you came."
    near = sum(one["near"] for one in kept)
    said = f"Predictions: {near} of {len(kept)} right or within {NEAR:g} times{_typically(kept)}."
    if len(kept) < ENOUGH:
        return said
    half = len(kept) // 2
    earlier, later = kept[:half], kept[half:]
    parts = [f"{sum(one['near'] for one in part)} of {len(part)}" for part in (earlier, later)]
    trend = _trend(earlier, later)
    return f"{said} The first half {parts[0]}, the second {parts[1]}: {trend}."


def _typically(kept: Sequence[Kept]) -> str:
    factors = [one["factor"] for one in kept if one["factor"] is not None]
    return f", numbers typically {statistics.median(factors):.2g} times off" if factors else ""


def _trend(earlier: Sequence[Kept], later: Sequence[Kept]) -> str:
    first, second = (sum(one["near"] for one in part) / len(part) for part in (earlier, later))
    if second > first:
        return "you are getting better"
    return "no better yet" if second == first else "the later ones were harder"
