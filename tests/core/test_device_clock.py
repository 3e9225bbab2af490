"""The device's clock on a GPU made of arithmetic: a host that launches, a queue, a device."""

import pytest
import torch

from course_utils.core import timing
from course_utils.core.timing import DeviceClock

LAUNCH = 5e-6  # seconds of the host a launch
LEAST = 100e-6


class VirtualGpu:
    """Kernels run one after the other; the queue holds `depth`, and a launch waits for room."""

    def __init__(self, depth=1000):
        self.now, self.free_at, self.depth, self.ends = 0.0, 0.0, depth, []

    def launch(self, seconds):
        self.now += LAUNCH
        if len(self.ends) >= self.depth:
            self.now = max(self.now, self.ends[-self.depth])
        self.free_at = max(self.free_at, self.now) + seconds
        self.ends.append(self.free_at)

    def synchronize(self):
        self.now = max(self.now, self.free_at)


@pytest.fixture
def gpu(monkeypatch):
    found = VirtualGpu()

    class Event:
        def __init__(self, enable_timing):
            self.at = None

        def record(self):
            self.at = max(found.now, found.free_at)

        def query(self):
            return self.at <= found.now

        def synchronize(self):
            found.now = max(found.now, self.at)

        def elapsed_time(self, other):
            return 1e3 * (other.at - self.at)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: found.launch(cycles / 2e9))
    return found


@pytest.mark.parametrize("seconds", [1e-7, 2e-6, 20e-6, 1e-3, 0.5])
def test_a_launch_is_not_in_the_devices_time_however_short_the_work(gpu, seconds):
    clock = DeviceClock(lambda: gpu.launch(seconds), LEAST)
    assert clock.once() == pytest.approx(seconds)
    assert clock.calls <= timing.MOST_CALLS  # a queue takes no more
    assert clock.calls * seconds >= LEAST or 2 * clock.calls >= timing.MOST_CALLS


@pytest.mark.parametrize(
    "launches, waits, seconds",
    [
        (100, False, 100 * 1e-6),
        (3000, False, 3000 * LAUNCH),  # more than the longest spin hides: their gaps are its time
        (1, True, LAUNCH + 1e-6),
    ],
)
def test_a_call_of_many_launches_or_that_waits_itself_takes_what_it_does_in_a_program(
    gpu, launches, waits, seconds
):
    def call():
        for _ in range(launches):
            gpu.launch(1e-6)
        if waits:
            gpu.synchronize()

    assert DeviceClock(call, LEAST).once() == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize("host_seconds", [1e-6, 500e-6])
def test_it_knows_work_of_the_host_from_work_of_the_gpu(gpu, host_seconds):
    def on_the_host():
        gpu.now += host_seconds

    assert not DeviceClock(on_the_host, LEAST).sees_work
    assert DeviceClock(lambda: (on_the_host(), gpu.launch(20e-6)), LEAST).sees_work
    assert DeviceClock(lambda: gpu.launch(1e-6), LEAST).sees_work


def test_cold_data_are_read_again_before_every_single_call(gpu, monkeypatch):
    done = []
    monkeypatch.setattr(timing, "_l2_reader", lambda: lambda: done.append("flush"))
    clock = DeviceClock(lambda: done.append("call"), LEAST, flush_l2=True)
    done.clear()
    clock.once(), clock.once()
    assert done == ["flush", "call"] * 2
