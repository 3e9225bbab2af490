"""A GPU's queues with the methods of the backend that chapter 2 writes by hand.

`launch(work)` queues and returns; `synchronize()` waits for all of it; `record_event()` marks a
point in the queue and `wait_event(event)` makes the queue wait for one.
"""

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
