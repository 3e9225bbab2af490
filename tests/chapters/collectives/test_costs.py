"""What collectives cost: bandwidths, and a ring's time by α and β."""

import math

from course_utils.chapters.collectives.costs import Link, busbw, ring_seconds, seconds_from_busbw


def test_bandwidths_are_those_of_nccl_tests():
    """The line of 16 GiB of nccl-tests on 8 A100: 127,997 µs, algbw 134.22, busbw 234.89."""
    assert round(busbw(0.127997, 8, 2**34), 2) == 234.89
    assert math.isclose(seconds_from_busbw(busbw(0.5, 8, 1e9), 8, 1e9), 0.5)


def test_a_step_costs_its_latency_and_its_bytes():
    """Eight ranks, 1 MB: a ring's 14 steps of an eighth."""
    link = Link(1e-5, 1e-9)
    assert math.isclose(ring_seconds(link, 8, 1e6), 14 * (1e-5 + 1.25e-4))
