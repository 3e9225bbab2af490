"""`measure` beside torch.utils.benchmark.Timer, both by the same virtual clock: no time passes."""

import pytest
from torch.utils.benchmark import Timer

from course_utils import measure
from course_utils.core import timing


class Clock:
    """A clock that goes on only when it is told to."""

    def __init__(self):
        self.now = 0.0

    def read(self):
        return self.now

    def work(self, seconds):
        self.now += seconds


@pytest.mark.parametrize("seconds", [2e-6, 3e-4, 0.05])
def test_measure_says_what_torchs_timer_says(monkeypatch, seconds):
    clock = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", clock.read)
    monkeypatch.setattr(timing.OthersClock, "others", 0.0)
    given = {"clock": clock, "seconds": seconds}
    theirs = Timer("clock.work(seconds)", globals=given, timer=clock.read).timeit(10)
    ours = measure(lambda: clock.work(seconds))
    assert ours.median == pytest.approx(theirs.median) == pytest.approx(seconds)
