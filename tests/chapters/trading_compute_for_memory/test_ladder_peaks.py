"""The kept predictions of the trades, and what each trade must not change: the gradient."""

import dataclasses

import pytest
import torch

from course_utils.chapters.trading_compute_for_memory import predicted_trades
from course_utils.chapters.trading_compute_for_memory.ladder_peaks import LADDER, predict_trade
from course_utils.workloads import GPTConfig

TINY = GPTConfig(vocabulary=64, context=16, layers=4, heads=2, width=16)


def weights_after_a_step(trade):
    torch.manual_seed(0)
    model, _, step = dataclasses.replace(trade, config=TINY).build(torch.device("cpu"))
    step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("name", [name for name in LADDER if LADDER[name].accumulate == 1])
def test_a_trade_changes_the_bytes_and_not_what_is_learnt(name):
    plain, traded = (weights_after_a_step(LADDER[n]) for n in ("nothing", name))
    assert (plain - traded).abs().quantile(0.9) < 1e-5


def test_every_trade_is_kept_and_the_quickest_is_what_is_predicted_now():
    kept = predicted_trades()
    assert list(kept) == list(LADDER)
    row = dict(kept["logits in chunks"])
    row.pop("trade")
    assert predict_trade(LADDER["logits in chunks"]) == row
