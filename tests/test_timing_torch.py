"""`measure` beside the timers that everyone trusts, in one run."""

import pytest
import torch

from course_utils import machine, measure


def test_measure_agrees_with_torch_benchmark_timer():
    from torch.utils.benchmark import Timer

    threads = torch.get_num_threads()
    a = torch.randn(256, 256)
    ratios = []
    for _ in range(5):
        theirs = Timer("a @ a", globals={"a": a}, num_threads=threads)
        ratios.append(
            measure(lambda: a @ a, budget_seconds=0.2).median
            / theirs.blocked_autorange(min_run_time=0.2).median
        )
    assert 0.6 < sorted(ratios)[2] < 1.6


def test_the_device_clock_needs_a_gpu():
    if torch.cuda.is_available():
        pytest.skip("a GPU is here")
    with pytest.raises(ValueError, match="needs work on a CUDA GPU"):
        measure(lambda: None, clock="device")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("n", [512, 4096])
def test_on_a_gpu_measure_agrees_with_do_bench(n):
    from triton.testing import do_bench

    a = torch.randn(n, n, device="cuda")
    theirs = do_bench(lambda: a @ a, return_mode="median") / 1e3
    ours = measure(lambda: a @ a, flush_l2=True).median
    assert 0.7 < ours / theirs < 1.4


def test_device_is_the_cpu_without_a_gpu_and_beyond_the_last_one():
    count = torch.cuda.device_count()
    assert machine.device(count).type == "cpu"
    assert machine.device().type == ("cuda" if count else "cpu")
