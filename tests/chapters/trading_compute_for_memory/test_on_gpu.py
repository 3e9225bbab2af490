"""Rows of a GPU's experiments as a reader sees them, and a peak by the profiler."""

import torch

from course_utils.chapters.trading_compute_for_memory import allocated_peak, in_units


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


def test_the_allocators_peak_has_what_an_operator_frees_again():
    def work():
        once = torch.empty(2**20)
        del once
        return torch.empty(2**18)

    assert allocated_peak(work) == 4 * 2**20
