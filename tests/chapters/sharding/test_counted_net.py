"""Played collectives: numpy's sums on every rank, and the bytes that a ring sends."""

import pytest
import torch

from course_utils.chapters.sharding.counted_net import play, ring_bytes
from course_utils.lesson.exercises import Wrong

RANKS = (1, 2, 3, 4)


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("shape", [(), (5, 3), (12, 3)])
def test_sums_are_numpys_in_place_and_in_two_halves(n, shape):
    inputs = torch.randn(n, *shape, dtype=torch.float64)
    given, want = [x.clone() for x in inputs], torch.as_tensor(inputs.numpy().sum(0))
    returned = play(n, lambda net: net.all_reduce(given[net.rank]))
    for mine, back in zip(given, returned, strict=True):
        assert back is mine and torch.equal(mine, given[0])
        torch.testing.assert_close(mine, want)
    if shape == (12, 3):
        parts = play(n, lambda net: net.reduce_scatter(inputs[net.rank]))
        torch.testing.assert_close(torch.cat(parts), want)
        wholes = play(n, lambda net: net.all_gather(parts[net.rank]))
        assert all(torch.equal(whole, torch.cat(parts)) for whole in wholes)


@pytest.mark.parametrize("n", RANKS)
def test_each_rank_sends_what_it_would_in_a_ring_and_a_call_is_told_with_its_shape(n):
    def sent(net):
        bytes_of = {}
        for name, numbers in [("all_reduce", 10), ("reduce_scatter", 12), ("all_gather", 3)]:
            net.reset()
            getattr(net, name)(torch.ones(numbers))
            bytes_of[name] = net.sent_bytes
        return bytes_of, net.calls

    want = {
        "all_reduce": ring_bytes(10, n, times=2),
        "reduce_scatter": 4 * 12 * (n - 1) // n,
        "all_gather": 4 * 3 * (n - 1),
    }
    assert play(n, sent) == [(want, ["all_gather of [3]"])] * n
    assert want["all_reduce"] == 2 * (n - 1) * 4 * -(-10 // n)


@pytest.mark.parametrize(
    "work, kind, says",
    [
        (lambda net: net.reduce_scatter(torch.ones(5)), ValueError, "no 2 equal parts; pad it"),
        (lambda net: net.reduce_scatter(torch.tensor(1.0)), ValueError, "no 2 equal parts"),
        (lambda net: net.all_gather([1.0]), TypeError, "all_gather takes a tensor, not list"),
        (lambda net: net.rank or net.all_gather(torch.ones(1)), Wrong,
         "2 ranks: deadlock: rank 0 waits to receive from 1; do all"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_named(work, kind, says):
    with pytest.raises(kind, match=says):
        play(2, work)
