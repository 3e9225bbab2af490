"""The best splits: those that fit, the quickest first, and a sentence where there are none."""

from dataclasses import replace

import pytest

from course_utils.chapters.sharding import Work, best_splits, cluster, held_bytes, step
from course_utils.chapters.sharding.best import ROOM, splits
from course_utils.chapters.trading_compute_for_memory import shape

H100 = cluster()


def test_each_fits_and_none_that_fits_is_quicker():
    work = Work(shape("Llama 3 70B"), 128)
    best = best_splits(work, H100, 64, 0.4)
    assert len(best) == 5 and all(row["gb"] <= ROOM * H100.memory_gb for row in best)
    rates = [row["tokens_per_s_gpu"] for row in best]
    assert rates == sorted(rates, reverse=True)
    for split in splits(work, 64):
        own = replace(work, lines=128 // split.shard // split.replicate)
        if sum(held_bytes(own, split).values()) <= ROOM * H100.memory_gb * 1e9:
            assert step(own, split, H100, 0.4).tokens_per_s_gpu <= rates[0] + 0.1


def test_all_gpus_are_used_and_every_line_is_somebodys():
    work = Work(shape("Llama 3 8B"), 32)
    for split in splits(work, 32):
        sharers = split.shard * split.replicate
        assert split.gpus == 32 and work.lines % (sharers * split.micro_batches) == 0


def test_a_small_model_is_only_sharded():
    best = best_splits(Work(shape("Llama 3 8B"), 16), H100, 8, 0.4)[0]
    assert best["split"] == "shard 8"


def test_pipelines_pay_where_the_network_is_slow_and_the_model_large():
    slow = replace(H100, between={"gb_per_s": 3, "step_us": 6})
    work = Work(shape("Llama 3 405B"), 1024)
    usual, poor = (best_splits(work, one, 512, 0.4)[0]["found"] for one in (H100, slow))
    assert usual.pipeline == 1 and poor.pipeline > 1


def test_a_model_that_fits_nowhere_is_refused_with_the_smallest_need():
    with pytest.raises(ValueError, match="no split of 64 GPUs fits Llama 3 405B: the smallest"):
        best_splits(Work(shape("Llama 3 405B"), 64), H100, 64, 0.4)
    with pytest.raises(ValueError, match="7 lines can't be shared among 64 GPUs"):
        best_splits(Work(shape("GPT-2 small"), 7), H100, 64, 0.4)
