"""Times work on a queue and on two at once, and holds a queue until the work is launched.

A queue is any object with `launch`, `synchronize` and `wait_event`: chapter 2's own backend, or a
GPU's stream.
"""

import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from course_utils.core.timing import measure, seconds

# ---- A GPU's queues with the methods of the backend that chapter 2 writes by hand.


class Gpu:
    """The current stream of the current GPU, where all work goes that names no other."""

    def __init__(self, stream: torch.cuda.Stream | None = None) -> None:
        self.stream = stream or torch.cuda.current_stream()
        self.where = self.stream.device

    def launch(self, work: Callable[[], Any]) -> None:
        """Calls `work`, which launches its kernels on the current stream."""
        work()

    def synchronize(self) -> None:
        """Waits for an event behind all that was launched, so that an idle GPU has to answer."""
        self.record_event().synchronize()

    def record_event(self) -> torch.cuda.Event:
        return self.stream.record_event()

    def wait_event(self, event: torch.cuda.Event) -> None:
        self.stream.wait_event(event)


class Stream(Gpu):
    """A stream of its own on a GPU: its work may run beside that of other streams."""

    def __init__(self, where: str | torch.device = "cuda") -> None:
        super().__init__(torch.cuda.Stream(where))

    def launch(self, work: Callable[[], Any]) -> None:
        """Calls `work`, which launches its kernels on this stream."""
        with torch.cuda.stream(self.stream):
            work()


Work = Callable[[], Any]
SPIN_CYCLES = 60_000_000  # about 30 ms on a GPU at 2 GHz


def hold(on: Any) -> Work:
    """Keeps a queue from running what is launched next, until you call what this returns.

    A worker thread waits for an event. A GPU can't wait for Python, so it spins for about 30 ms;
    there, calling the result waits for the end of the spin.
    """
    if isinstance(on, Gpu):
        on.launch(lambda: torch.cuda._sleep(SPIN_CYCLES))
        return on.record_event().synchronize
    gate = threading.Event()
    on.wait_event(gate)
    return gate.set


def three_times(on: Any, work: Work, count: int = 50) -> dict[str, float]:
    """Seconds to launch `work` on a queue, to run it, and until the frontend knows it is done.

    `t1_seconds`: launches while the queue is held. `t2_seconds`: by events on a GPU, else by the
    clock of the worker's thread. `t3_seconds`: there and back with a loop that lasts t2, without
    that t2, because a core that has slept for longer takes longer to wake. Medians of `count`.
    """
    release = hold(on)
    t1 = seconds(lambda: _launch_all(on, work, count)) / count
    release()
    on.synchronize()
    t2 = _run_time(on, work, count)

    def spin() -> None:
        end = time.perf_counter() + t2
        while time.perf_counter() < end:
            pass

    def there_and_back() -> None:
        on.launch(spin)
        on.synchronize()

    t3 = median(seconds(there_and_back) for _ in range(count)) - t2
    return {"t1_seconds": t1, "t2_seconds": t2, "t3_seconds": t3}


def _launch_all(on: Any, work: Work, count: int) -> None:
    for _ in range(count):
        on.launch(work)


def _run_time(on: Any, work: Work, count: int) -> float:
    if isinstance(on, Gpu):
        return measure(work, clock="device", budget_seconds=0.05).median
    taken: list[float] = []
    _launch_all(on, lambda: taken.append(seconds(work)), count)
    on.synchronize()
    return median(taken)


def drain(*pairs: tuple[Any, Work], count: int = 50) -> float:
    """Seconds until each queue of the (queue, work) pairs has done its work `count` times.

    All queues are filled before any begins, so that launching isn't timed.
    """
    releases = [hold(on) for on, _ in pairs]
    for on, work in pairs:
        _launch_all(on, work, count)
    for release in releases:
        release()

    def wait_for_all() -> None:
        for on, _ in pairs:
            on.synchronize()

    return seconds(wait_for_all)
