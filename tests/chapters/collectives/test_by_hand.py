"""The naive way, and what is measured on several ranks."""

import pytest
import torch

import notebook_ranks as ranks
from course_utils.chapters.collectives.by_hand import naive_all_reduce
from course_utils.chapters.collectives.rank_blocks import draw_holdings
from course_utils.chapters.collectives.simulated_ranks import simulate


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_naive_way_adds_up_and_rank_0_does_all(n):
    inputs = torch.randint(100, (n, 12)).float()
    left = inputs.clone()
    _, nets = simulate(n, lambda net: naive_all_reduce(left[net.rank], net))
    assert all(torch.equal(x, inputs.sum(0)) for x in left)
    assert nets[0].steps == 2 * (n - 1) and nets[0].sent_bytes == (n - 1) * 48


def test_every_rank_hears_the_time_that_the_slowest_takes_for_a_call():
    def uneven():
        from types import SimpleNamespace

        from course_utils.chapters.collectives import by_hand

        now = [0.0]  # a clock that each call moves on, by a quarter of a second for each rank
        by_hand.time = SimpleNamespace(perf_counter=lambda: now[0])
        return by_hand.slowest_seconds(
            lambda: now.append(now.pop() + rank / 4),  # noqa: F821
            times=1,
            calls=3,
        )

    ranks.start(4, device="cpu", limit_seconds=120)
    try:
        assert ranks.run(uneven) == [0.75] * 4
    finally:
        ranks.stop()


def test_holdings_are_drawn_from_tensors_lists_and_nothing():
    before = [torch.tensor([65]), None, [torch.tensor([1]), torch.tensor([2])]]
    picture = draw_holdings("A title", {"move": (before, [5, 6, 7])}, letters=True)
    assert repr(picture).startswith("[figure] A title\n") and picture.png.startswith(b"\x89PNG")
