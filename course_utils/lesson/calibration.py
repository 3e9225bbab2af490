"""How well a reader foresees: how often within 2 times, how far off, and whether it gets better."""

import math
import statistics
from collections.abc import Collection, Sequence
from contextlib import suppress
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


def readable(found: Sequence[Any]) -> list[Kept]:
    """The kept guesses that can be read; others are passed over."""
    rows = []
    for one in found:
        with suppress(ValueError, KeyError, TypeError):
            rows.append(checked(one))
    return rows


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
    hits = [sum(one["near"] for one in part) for part in (earlier, later)]
    better = ": you are getting better" if _is_better(hits, len(earlier), len(later)) else ""
    return (
        f"{said} The first half {hits[0]} of {half}, the second {hits[1]} of {len(later)}{better}."
    )


def _typically(kept: Sequence[Kept]) -> str:
    factors = [one["factor"] for one in kept if one["factor"] is not None]
    return f", numbers typically {statistics.median(factors):.2g} times off" if factors else ""


def _is_better(hits: Sequence[int], earlier: int, later: int) -> bool:
    """Whether as many hits in the later half would come about by luck in one of ten cases at most.

    Fisher's exact test, one-sided: of all ways to deal out the hits among the guesses.
    """
    total, ways = sum(hits), math.comb(earlier + later, sum(hits))
    as_good = range(hits[1], min(later, total) + 1)
    return sum(math.comb(later, n) * math.comb(earlier, total - n) for n in as_good) <= 0.1 * ways
