"""Simulated ranks: threads of one process, for algorithms that are to be checked, counted or timed.

A message is handed over when both sides are there, as MPI_Ssend does it, so an order of sends and
receives that can deadlock does so every time, and is noticed at once. Each rank has a simulated
clock, on which a message takes what the link's α and β say: no thread sleeps.
"""

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Any

import torch

from course_utils.chapters.collectives.costs import Link
from course_utils.core.stopping import stop
from course_utils.figures.timeline import Span

NO_TIME = Link(0.0, 0.0)


class Deadlock(Exception):
    """Every rank waits for another; the message says which for which."""


class _Message:
    def __init__(self, x: torch.Tensor, came: float) -> None:
        self.x, self.came, self.due = x.clone(), came, 0.0
        self.taken = False


class SimulatedNet:
    """One rank's side of a simulated net; see `by_hand.Net`.

    `sent_to` has the bytes sent to each rank, `messages` their number. `clock` is this rank's
    simulated time in seconds, `spans` what it did until then: on each link one message can go each
    way at a time, from when both sides are there. `before_step(net)` is called before each step.
    """

    def __init__(self, rank: int, room: "_Room", before_step: "Callable[[SimulatedNet], None]"):
        self.rank, self.n, self._room = rank, room.n, room
        self.steps = self.messages = 0
        self.sent_to: Counter[int] = Counter()
        self.clock, self.spans = 0.0, list[Span]()
        self._before_step = before_step

    @property
    def sent_bytes(self) -> int:
        """Bytes that left this rank."""
        return self.sent_to.total()

    def send(self, x: torch.Tensor, to: int) -> None:
        self._step()
        self._end("send", self._given(self._post(x, to), to), x.nbytes)

    def receive(self, into: torch.Tensor, source: int) -> None:
        self._step()
        self._end("receive", self._take(into, source), into.nbytes)

    def exchange(self, x: torch.Tensor, to: int, into: torch.Tensor, source: int) -> None:
        self._step()
        message = self._post(x, to)
        due = max(self._take(into, source), self._given(message, to))
        self._end("send and receive", due, max(x.nbytes, into.nbytes))

    def _given(self, message: _Message, to: int) -> float:
        """Waits until a message is taken, and returns when it has come, on the simulated clock."""
        self._room.wait(self.rank, lambda: message.taken, f"to send to {to}")
        return message.due

    def _end(self, label: str, due: float, n_bytes: int) -> None:
        begins, row = max(self.clock, due - self._room.link.seconds(n_bytes)), f"rank {self.rank}"
        if begins - self.clock > 1e-9 * due:  # else no wait, but a rounding error
            self.spans.append(Span(row, "wait", self.clock, begins))
        self.spans.append(Span(row, label, begins, due))
        self.clock = due

    def _step(self) -> None:
        self._before_step(self)
        self.steps += 1

    def _post(self, x: torch.Tensor, to: int) -> _Message:
        self._check(to)
        message = _Message(x, self.clock)
        self.sent_to[to] += x.nbytes
        self.messages += 1
        with self._room.changed:
            self._room.posted[self.rank, to].append(message)
            self._room.changed.notify_all()
        return message

    def _take(self, into: torch.Tensor, source: int) -> float:
        self._check(source)
        queue = self._room.posted[source, self.rank]
        self._room.wait(self.rank, lambda: bool(queue), f"to receive from {source}")
        with self._room.changed:
            message = queue.popleft()
            if message.x.shape != into.shape:
                sizes = f"{list(message.x.shape)} into {list(into.shape)}"
                raise ValueError(f"rank {self.rank} receives {sizes} from rank {source}")
            into.copy_(message.x)
            message.due = max(message.came, self.clock) + self._room.link.seconds(into.nbytes)
            message.taken = True
            self._room.changed.notify_all()
        return message.due

    def _check(self, other: int) -> None:
        if not 0 <= other < self.n or other == self.rank:
            raise ValueError(f"rank {self.rank} of {self.n} can't talk to rank {other}")


class _Room:
    """The state that the threads share: messages on their way, and waiting ranks."""

    def __init__(self, n: int, link: Link) -> None:
        self.n, self.link, self.left = n, link, set[int]()
        self.changed = threading.Condition()
        self.posted: dict[tuple[int, int], deque[_Message]] = defaultdict(deque)
        self.waiting: dict[int, tuple[Callable[[], bool], str]] = {}
        self.over = ""

    def wait(self, rank: int, ready: Callable[[], bool], why: str) -> None:
        with self.changed:
            self.waiting[rank] = ready, why
            self.look()
            self.changed.wait_for(lambda: self.over or ready())
            del self.waiting[rank]
            if self.over and not ready():
                raise Deadlock(self.over)

    def leave(self, rank: int) -> None:
        """A rank is done, or failed: ranks that wait for it now wait in vain."""
        with self.changed:
            self.left.add(rank)
            self.look()
            self.changed.notify_all()

    def empty(self, seconds: float) -> bool:
        """Whether all have left, within that time."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.left) == self.n, seconds)

    def look(self) -> None:
        """Ends it where all that are left wait, and none of them can go on."""
        stuck = len(self.waiting) == self.n - len(self.left)
        if self.waiting and stuck and not any(ready() for ready, _ in self.waiting.values()):
            who = "; ".join(f"rank {r} waits {why}" for r, (_, why) in sorted(self.waiting.items()))
            self.over = self.over or f"deadlock: {who}"
            self.changed.notify_all()


def simulate(
    n: int,
    work: Callable[[SimulatedNet], Any],
    before_step: Callable[[SimulatedNet], None] = lambda net: None,
    link: Link = NO_TIME,
) -> tuple[list[Any], list[SimulatedNet]]:
    """Runs `work(net)` on `n` ranks at once: what each returned, and their nets with the counts.

    A message takes `link.seconds(its bytes)` of simulated time.
    Raises: the first error that a rank raised, Deadlock only where nothing else went wrong.
    """
    room = _Room(n, link)
    nets = [SimulatedNet(rank, room, before_step) for rank in range(n)]
    results: list[Any] = [None] * n
    errors: list[BaseException] = []

    def play(net: SimulatedNet) -> None:
        try:
            results[net.rank] = work(net)
        except BaseException as error:
            errors.append(error)
        finally:
            room.leave(net.rank)

    threads = [threading.Thread(target=play, args=(net,), daemon=True) for net in nets]
    for thread in threads:
        thread.start()
    try:
        while not room.empty(0.1):
            pass
    finally:  # whoever is interrupted here leaves no rank that runs for ever
        stop(threads[rank] for rank in set(range(n)) - room.left)
    if errors:
        raise next((e for e in errors if not isinstance(e, Deadlock)), errors[0])
    return results, nets
