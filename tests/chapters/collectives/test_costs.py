"""What collectives cost: bandwidths, fitted models, formulas that agree with counts."""

import math

import pytest

from course_utils.chapters.collectives.costs import (
    Link,
    busbw,
    fit,
    fit_half,
    misses,
    ring_seconds,
    seconds_from_busbw,
)


def test_bandwidths_are_those_of_nccl_tests():
    """The line of 16 GiB of nccl-tests on 8 A100: 127,997 µs, algbw 134.22, busbw 234.89."""
    assert round(busbw(0.127997, 8, 2**34), 2) == 234.89
    assert math.isclose(seconds_from_busbw(busbw(0.5, 8, 1e9), 8, 1e9), 0.5)


@pytest.mark.parametrize("made", [Link(2e-5, 4e-12), Link(3e-5, 0.0), Link(0.0, 1e-9)])
def test_a_fit_finds_the_link_that_made_the_times(made):
    times = {2**k: made.seconds(2**k) for k in range(10, 34)}
    found = fit(times)
    assert all(math.isclose(found.seconds(s), t, rel_tol=1e-6) for s, t in times.items())
    _, missed = fit_half(times)
    assert set(missed) == set(list(times)[1::2]) and max(missed.values()) < 1e-6


def test_neither_number_of_a_fit_is_negative():
    falling, steep = {1000: 3e-3, 2000: 2e-3, 4000: 1e-3}, {1000: 1e-3, 2000: 3e-3, 4000: 9e-3}
    assert fit(falling).beta == 0 < fit(falling).alpha
    assert fit(steep).alpha == 0 < fit(steep).beta
    assert misses(Link(0.0, 1.0), {2: 4.0}) == {2: 0.5}


def test_a_step_costs_its_latency_and_its_bytes():
    """Eight ranks, 1 MB: a ring's 14 steps of an eighth."""
    link = Link(1e-5, 1e-9)
    assert math.isclose(ring_seconds(link, 8, 1e6), 14 * (1e-5 + 1.25e-4))
