"""Ranks joined by a link of known latency and rate, so that two cores behave as a network does.

The bytes travel over gloo while both sides sleep, so that cores decide nothing as long as the link
is slower than they are.
"""

import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from course_utils.figures.timeline import Span

CAME, DUE = 1, 2  # tags of what accompanies a message, whose own is 0


class PlayedLink:
    """A rank's `Net` on which a message takes `alpha` seconds and `beta` seconds for each byte.

    It counts from when both sides are there, and both are free again when it has come. Each rank
    can send one message and receive another at the same time. `spans` has what this rank did.
    Processes of one machine share the clock by which they sleep (time.monotonic).
    """

    def __init__(self, alpha: float, beta: float) -> None:
        self.rank, self.n = dist.get_rank(), dist.get_world_size()
        self.alpha, self.beta = alpha, beta
        self.steps = self.sent_bytes = 0
        self.spans: list[Span] = []

    def send(self, x: torch.Tensor, to: int) -> None:
        self._step("send", x.nbytes, lambda came: self._give(x, to, came)())

    def receive(self, into: torch.Tensor, source: int) -> None:
        self._step("receive", into.nbytes, lambda came: self._take(into, source, came))

    def exchange(self, x: torch.Tensor, to: int, into: torch.Tensor, source: int) -> None:
        def both(came: float) -> float:
            given = self._give(x, to, came)
            return max(self._take(into, source, came), given())

        self._step("send and receive", max(x.nbytes, into.nbytes), both)

    def seconds(self, n_bytes: int) -> float:
        """What a message takes, from when both sides are there."""
        return self.alpha + self.beta * n_bytes

    def _step(self, label: str, n_bytes: int, message: Callable[[float], float]) -> None:
        """Sleeps until a message is due; `message` moves it, and says when that is."""
        self.steps += 1
        came = time.monotonic()
        due = message(came)
        time.sleep(max(0.0, due - time.monotonic()))
        row, begins = f"rank {self.rank}", max(came, due - self.seconds(n_bytes))
        self.spans.append(Span(row, "wait", came, begins))
        self.spans.append(Span(row, label, begins, time.monotonic()))

    def _give(self, x: torch.Tensor, to: int, came: float) -> Callable[[], float]:
        """Begins to send; what is returned waits for the receiver, who says when it is due."""
        self.sent_bytes += x.nbytes
        due = _seconds(0)
        messages = [
            dist.isend(_seconds(came), to, tag=CAME),
            dist.isend(x, to),
            dist.irecv(due, to, tag=DUE),
        ]

        def given() -> float:
            for message in messages:
                if message is not None:
                    message.wait()
            return due.item()

        return given

    def _take(self, into: torch.Tensor, source: int, came: float) -> float:
        theirs = _seconds(0)
        dist.recv(theirs, source, tag=CAME)
        due = max(theirs.item(), came) + self.seconds(into.nbytes)
        told = dist.isend(_seconds(due), source, tag=DUE)
        dist.recv(into, source)
        if told is not None:
            told.wait()
        return due


def _seconds(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)
