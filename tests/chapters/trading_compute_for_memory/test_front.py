"""Which choices no other beats."""

import random

from course_utils.chapters.trading_compute_for_memory import pareto


def test_a_choice_is_on_the_front_where_none_keeps_as_little_and_computes_less():
    rng = random.Random(0)
    points = {str(k): (rng.randrange(20), rng.randrange(20)) for k in range(60)}

    def beaten(point):
        return any(
            other != point and other[0] <= point[0] and other[1] <= point[1]
            for other in points.values()
        )

    assert set(pareto(points).values()) == {p for p in points.values() if not beaten(p)}
