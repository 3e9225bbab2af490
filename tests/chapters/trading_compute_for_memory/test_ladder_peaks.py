"""What no trade may change, the gradient; and the prediction that stands beside the recording."""

import dataclasses

import pytest
import torch

from course_utils.chapters.trading_compute_for_memory import TRADES
from course_utils.chapters.trading_compute_for_memory.ladder_peaks import predicted_bytes
from course_utils.core.evidence import recorded
from course_utils.workloads import GPTConfig

TINY = GPTConfig(vocabulary=64, context=16, layers=4, heads=2, width=16)


def weights_after_a_step(trade):
    torch.manual_seed(0)
    model, _, step = dataclasses.replace(trade, config=TINY).build(torch.device("cpu"))
    step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("name", TRADES)
def test_a_trade_changes_the_bytes_and_not_what_is_learnt(name):
    traded = TRADES[name]
    untraded = dataclasses.replace(TRADES["nothing"], sequences=traded.sequences)
    plain, traded = map(weights_after_a_step, (untraded, traded))
    assert (plain - traded).abs().quantile(0.9) < 1e-5


def test_each_recorded_trade_had_the_prediction_that_is_made_now():
    rows = recorded("10_trading_compute_for_memory/trades").rows
    names = [row["trade"] for row in rows]
    assert names and names == list(TRADES)[: len(rows)]  # the last two want a new recording
    now = [predicted_bytes(name) for name in names]
    assert [row["predicted_bytes"] for row in rows] == pytest.approx(now, rel=1e-6)
