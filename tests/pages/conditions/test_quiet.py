"""What compares timings waits until no chapter runs."""

import pytest
import torch

from course_utils import measure
from course_utils.lesson.start import wait_for_quiet

pytestmark = pytest.mark.timed


@pytest.fixture
def quiet():
    locks = wait_for_quiet(alone=True)
    yield
    for lock in locks:
        lock.close()


@pytest.mark.parametrize("n", [8, 256])
def test_measure_agrees_with_torch_benchmark_timer(quiet, n):
    from torch.utils.benchmark import Timer

    a, threads = torch.randn(n, n), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ratios = []
        for _ in range(5):
            theirs = Timer("a @ a", globals={"a": a}).blocked_autorange(min_run_time=0.2)
            ratios.append(measure(lambda: a @ a, budget_seconds=0.2).median / theirs.median)
    finally:
        torch.set_num_threads(threads)
    assert 0.7 < sorted(ratios)[2] < 1.4, ratios
