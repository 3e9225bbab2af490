"""What a step costs on n devices: formula and timeline."""

import random

import pytest

from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.data_parallelism.scaling import (
    BACKWARD,
    Cluster,
    efficiency,
    exposed_seconds,
    messages_seconds,
    step_spans,
)


def equal(cluster, compute, n_bytes, buckets, overlap=True):
    """The spans of a step with equal buckets that fill evenly."""
    backward, took = BACKWARD * compute, messages_seconds(cluster, n_bytes, buckets) / buckets
    ready = [backward * bucket / buckets for bucket in range(1, buckets + 1)]
    return step_spans(compute, backward, ready, [took] * buckets, overlap)


def drawn(n=8):
    return Cluster(n, 1e12, Link(10 ** random.uniform(-5, -2), 10 ** random.uniform(-11, -8)))


@pytest.mark.parametrize("buckets", [1, 2, 7, 40])
def test_the_formula_is_what_the_timeline_shows(buckets):
    for _ in range(50):
        cluster, flops, n_bytes = drawn(), 10 ** random.uniform(9, 12), 10 ** random.uniform(5, 9)
        compute = flops / cluster.flops_per_s
        end = max(span.end for span in equal(cluster, compute, n_bytes, buckets))
        assert efficiency(cluster, flops, n_bytes, buckets) == pytest.approx(compute / end)


def test_without_overlap_a_step_is_the_sum_and_one_device_waits_for_nobody():
    cluster, buckets = drawn(), 5
    end = max(span.end for span in equal(cluster, 1.0, 1e8, buckets, overlap=False))
    assert end == pytest.approx(1 + messages_seconds(cluster, 1e8, buckets))
    assert efficiency(drawn(1), 1e12, 1e9, 4) == 1.0


def test_the_last_bucket_always_shows_and_all_of_a_slow_network():
    assert exposed_seconds(9.0, 2.0, 4) == 0.5
    assert exposed_seconds(9.0, 2.0) == 2.0
    assert exposed_seconds(9.0, 100.0, 3) == pytest.approx(96.0)
