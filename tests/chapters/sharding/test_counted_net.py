"""Played collectives: numpy's sums on every rank, and the bytes that a ring sends."""

import pytest
import torch

from course_utils.chapters.sharding.counted_net import play, ring_bytes
from course_utils.lesson.exercises import Wrong

RANKS = (1, 2, 3, 4)


def a_tensor_a_rank(n, *shape):
    return torch.randn(n, *shape, dtype=torch.float64)


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("shape", [(), (1,), (12,), (5, 3)])
def test_all_reduce_leaves_the_same_sum_in_place_on_every_rank(n, shape):
    inputs = a_tensor_a_rank(n, *shape)
    given = [x.clone() for x in inputs]
    returned = play(n, lambda net: net.all_reduce(given[net.rank]))
    want = torch.as_tensor(inputs.numpy().sum(0))
    for mine, back in zip(given, returned, strict=True):
        assert back is mine and torch.equal(mine, given[0])
        torch.testing.assert_close(mine, want)


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("shape", [(12,), (12, 3)])
def test_reduce_scatter_and_all_gather_make_an_all_reduce_of_two_halves(n, shape):
    inputs = a_tensor_a_rank(n, *shape)
    parts = play(n, lambda net: net.reduce_scatter(inputs[net.rank]))
    wholes = play(n, lambda net: net.all_gather(parts[net.rank]))
    for rank, part in enumerate(parts):
        torch.testing.assert_close(part, inputs.sum(0).chunk(n)[rank])
        assert torch.equal(wholes[rank], torch.cat(parts))


@pytest.mark.parametrize("n", RANKS)
def test_each_rank_sends_what_it_would_in_a_ring(n):
    def sent(net):
        bytes_of = {}
        for name, numbers in [("all_reduce", 10), ("reduce_scatter", 12), ("all_gather", 3)]:
            net.reset()
            getattr(net, name)(torch.ones(numbers))
            bytes_of[name] = net.sent_bytes
        return bytes_of

    want = {
        "all_reduce": ring_bytes(10, n, times=2),
        "reduce_scatter": 4 * 12 * (n - 1) // n,
        "all_gather": 4 * 3 * (n - 1),
    }
    assert play(n, sent) == [want] * n
    assert want["all_reduce"] == 2 * (n - 1) * 4 * -(-10 // n)


def test_a_call_is_told_with_its_shape():
    def work(net):
        net.reduce_scatter(torch.ones(4))
        net.all_gather(torch.ones(2, 3))
        return net.calls

    assert play(2, work)[1] == ["reduce_scatter of [4]", "all_gather of [2, 3]"]


@pytest.mark.parametrize("x", [torch.ones(5), torch.tensor(1.0)])
def test_what_has_no_equal_parts_is_to_be_padded(x):
    with pytest.raises(ValueError, match="no 2 equal parts; pad it first"):
        play(2, lambda net: net.reduce_scatter(x))


def test_what_is_no_tensor_is_named():
    with pytest.raises(TypeError, match="all_gather takes a tensor, not list"):
        play(2, lambda net: net.all_gather([1.0, 2.0]))


def test_a_rank_that_stays_away_is_a_wrong_answer_that_says_who_waits():
    with pytest.raises(Wrong, match="2 ranks: deadlock: rank 0 waits to receive from 1; do all"):
        play(2, lambda net: net.rank or net.all_gather(torch.ones(1)))
