"""A GPU's queues with the methods of the worker that chapter 2 writes by hand, and `hold`."""

import threading
from collections.abc import Callable
from typing import Any

import torch


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
