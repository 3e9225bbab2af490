"""Pretends busy programs in every Python process that has this folder on PYTHONPATH.

Each measurement comes out one to thirty times as long as it was, by chance, and says that other
programs took 1.2 cores meanwhile. A claim that rests on it may then hold or stay undecided; one
that fails was given too little of what it rests on.
"""

import random
from typing import Any

from course_utils.core import measurement, timing

CORES, MOST = 1.2, 30
_chance = random.Random()  # its own: the page's generators are seeded, and print what they draw


def disturbed(
    values: tuple[float, ...], offered: int, others: Any, clock: str, unit: str = "seconds"
) -> measurement.Measurement:
    """The measurement, longer and known to be disturbed; arguments are Measurement's."""
    factor = MOST ** _chance.random()
    longer = tuple(factor * value for value in values)
    return measurement.Measurement(longer, offered, CORES, clock, unit)


timing.Measurement = disturbed  # type: ignore[assignment,misc]
