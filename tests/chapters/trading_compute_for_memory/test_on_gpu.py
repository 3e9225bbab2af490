"""Rows of a GPU's experiments as a reader sees them, and the picture of the trades."""

import torch

from course_utils.chapters.trading_compute_for_memory import (
    allocated_peak,
    draw_trades,
    in_units,
    predicted_trades,
)
from course_utils.core.evidence import Series


def test_bytes_seconds_and_rates_have_units_and_the_spread_is_left_out():
    row = {
        "optimizer": "fused", "parameters": 1_235_746_816, "peak_bytes": 2**30,
        "link_gb_per_s": 52.5, "step_seconds": 0.0123, "step_seconds_q1": 0.01,
    }  # fmt: skip
    assert in_units([row]) == [
        {
            "optimizer": "fused", "parameters": "1,235,746,816", "peak, GiB": "1.00",
            "link, GB/s": "52.50", "step, ms": "12.30",
        }
    ]  # fmt: skip


def test_a_recording_is_drawn_as_bytes_and_seconds_and_without_one_the_predicted_bytes():
    rows = [
        {"trade": name, "allocated_bytes": row["allocated_bytes"], "step_seconds": 0.1 + k / 100}
        for k, (name, row) in enumerate(predicted_trades().items())
    ]
    drawn = draw_trades([], Series.of_rows(rows, "recorded", "recorded: a GPU"))
    assert "seconds a step" in repr(drawn) and "matmuls kept" in repr(drawn)
    assert "predicted" in repr(draw_trades([], None))
    some = Series.of_rows(rows[:3], "recorded", "recorded: a GPU")  # the time was up
    assert "predicted" in repr(draw_trades([], some))


def test_the_allocators_peak_has_what_an_operator_frees_again():
    def work():
        once = torch.empty(2**20)
        del once
        return torch.empty(2**18)

    assert allocated_peak(work) == 4 * 2**20
