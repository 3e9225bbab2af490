"""Sets of moments: what many spans cover, by counting milliseconds one by one."""

import numpy as np
import pytest

from snapshots_and_traces.traces import intervals


def drawn(seed):
    draw = np.random.default_rng(seed)
    start = draw.integers(0, 60, 12).astype(float)
    return start, start + draw.integers(0, 9, 12)


def ticks(start, end):
    """The whole numbers that begin a unit of time inside any of the spans."""
    return {tick for a, b in zip(start, end, strict=True) for tick in range(int(a), int(b))}


@pytest.mark.parametrize("seed", range(30))
def test_all_of_them_agree_with_counting(seed):
    start, end = drawn(seed)
    mine, inside = intervals.union(start, end), ticks(start, end)
    assert intervals.length(mine) == len(inside)
    assert (mine[1:, 0] > mine[:-1, 1]).all()
    cut = intervals.within(mine, 10, 50)
    assert intervals.length(cut) == len(inside & set(range(10, 50)))
    holes = intervals.gaps(mine, 10, 50)
    assert ticks(*holes.T) == set(range(10, 50)) - inside
    spans = np.column_stack(drawn(seed + 100))
    found = intervals.covered(mine, spans)
    assert found.tolist() == [len(ticks(*span[:, None]) & inside) for span in spans]
    times = np.arange(70) + 0.5
    assert {int(t) for t in times[intervals.inside(mine, times)]} == inside


def test_nothing_covers_nothing():
    none = intervals.union(np.array([3.0]), np.array([3.0]))
    assert none.shape == (0, 2) and intervals.gaps(none, 1, 2).tolist() == [[1, 2]]
    assert intervals.covered(none, np.array([[0.0, 9.0]])).tolist() == [0]
    assert not intervals.inside(none, np.array([3.0])).any()
