"""A step's timeline on n devices."""

import random

import pytest

from course_utils.chapters.data_parallelism.scaling import BACKWARD, step_spans


def end(compute, messages, buckets, overlap=True):
    """The end of a step with equal buckets that fill evenly."""
    backward = BACKWARD * compute
    ready = [backward * bucket / buckets for bucket in range(1, buckets + 1)]
    spans = step_spans(compute, backward, ready, [messages / buckets] * buckets, overlap)
    return max(span.end for span in spans)


@pytest.mark.parametrize("buckets", [1, 2, 7, 40])
def test_a_step_exposes_the_last_bucket_or_what_the_network_cant_keep_up_with(buckets):
    for _ in range(50):
        compute, messages = random.uniform(0.1, 10), 10 ** random.uniform(-3, 2)
        before_the_last = BACKWARD * compute * (buckets - 1) / buckets
        exposed = max(messages / buckets, messages - before_the_last)
        assert end(compute, messages, buckets) == pytest.approx(compute + exposed)


def test_without_overlap_a_step_is_the_sum():
    assert end(1.0, 0.7, 5, overlap=False) == pytest.approx(1.7)
