"""The best splits: those that fit, the quickest first, and a sentence where there are none."""

from dataclasses import replace

import pytest

from course_utils.chapters.choosing_a_split import Work, best_splits, cluster, held_bytes, step
from course_utils.chapters.choosing_a_split.best import ROOM, splits
from course_utils.planner import shape

H100 = cluster()


def test_each_fits_and_none_that_fits_is_quicker():
    work = Work(shape("Llama 3 70B"), 128)
    best = best_splits(work, H100, 64, 0.4)
    assert len(best) == 5 and all(row["gb"] <= ROOM * H100.memory_gb for row in best)
    rates = [row["tokens_per_s_gpu"] for row in best]
    assert rates == sorted(rates, reverse=True)
    for split in splits(work, 64):
        assert split.gpus == 64
        own = replace(work, lines=128 // split.shard // split.replicate)
        if sum(held_bytes(own, split).values()) <= ROOM * H100.memory_gb * 1e9:
            assert step(own, split, H100, 0.4).tokens_per_s_gpu <= rates[0] + 0.1


def test_a_model_that_fits_nowhere_is_refused_with_the_smallest_need():
    with pytest.raises(ValueError, match="no split of 64 GPUs fits Llama 3 405B: the smallest"):
        best_splits(Work(shape("Llama 3 405B"), 64), H100, 64, 0.4)
    with pytest.raises(ValueError, match="7 lines can't be shared among 64 GPUs"):
        best_splits(Work(shape("GPT-2 small"), 7), H100, 64, 0.4)
