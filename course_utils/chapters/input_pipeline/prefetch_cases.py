"""The cases that an answer to the prefetcher's exercise is led through; each raises Wrong.

A case is a consumer in a thread of its own, so that an answer that waits for ever keeps nobody.
What a case needs to wait for, it waits for by events.
"""

import queue
import random
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import torch

from course_utils.core.stopping import stop
from course_utils.lesson.answers import shown
from course_utils.lesson.exercises import Wrong

PATIENCE = 1.0  # seconds until a wait counts as one that never ends
PARTS = 50  # in which it is waited for: where the machine is busy each takes longer, and so do all
MOMENT = 0.03  # seconds in which what must not happen would
RUNAWAY = 100  # batches loaded after close(), after which it isn't one that was in hand
MANY = 1000  # batches: as good as endless for a loader that may be a few ahead
END = object()
Prefetched = Callable[..., Any]


class Trial:
    """One answer on some batches: an iterable that knows who loads them, and their consumer.

    Load `number` begins when `allowed` is over it; the end, or `error` in its place, is a load too.
    """

    def __init__(
        self, batches: list[Any], depth: int, error: Exception | None = None, allowed: int = 10**9
    ) -> None:
        self.batches, self.depth, self.error, self.allowed = batches, depth, error, allowed
        self.asked = self.begun = 0  # batches the consumer asked for, loads that began
        self.closed = self.over = False
        self.fault, self.doing = "", "calling prefetched(batches, depth)"
        self.loaders: set[threading.Thread] = set()
        self.given: Any = None
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[Any]:
        for batch in self.batches:
            if not self._load():
                return
            yield batch
        if self._load() and self.error:
            raise self.error

    def _load(self) -> bool:
        """Counts a load, and waits until it may begin; False where the loader has to end."""
        with self._changed:
            number, self.begun = self.begun, self.begun + 1
            self.loaders.add(threading.current_thread())
            self.fault = self.fault or self._wrong_with(number)
            self._changed.notify_all()
            self._changed.wait_for(lambda: number < self.allowed or self.over)
            return not (self.fault or self.over)

    def _wrong_with(self, number: int) -> str:
        if threading.current_thread() is self._consumer:
            return f"batch {number} was loaded by the thread that asked for it, not ahead"
        ahead = self.begun - self.asked - self.depth
        if self.closed:
            return "after close() your thread goes on loading" if ahead > RUNAWAY else ""
        if ahead > 1:
            return (
                f"depth {self.depth}: {self.asked} batches had been asked for, and {self.begun} "
                f"loaded: want at most {self.depth} that wait, and one in the thread's hand"
            )
        return ""

    def run(self, prefetched: Prefetched, case: Callable[["Trial"], None]) -> None:
        """Takes an answer through a case, and ends whatever it leaves. Raises: Wrong."""
        outcome: Future[None] = Future()

        def consume() -> None:
            try:
                self.given = prefetched(self, self.depth)
                if not isinstance(self.given, Generator):
                    raise Wrong(f"you return {shown(self.given)}, want a generator: use yield")
                case(self)
                outcome.set_result(None)
            except BaseException as error:
                outcome.set_exception(error)
            self.allow()
            with suppress(BaseException):
                self.given.close()

        self._consumer = threading.Thread(target=consume, daemon=True, name="consumer")
        self._consumer.start()
        try:
            for _ in range(2):  # where the case itself waits too long it says why, before this does
                _comes(lambda seconds: bool(wait([outcome], seconds).done or self.fault))
            if self.fault:
                raise Wrong(self.fault)
            if not outcome.done():
                raise Wrong(f"{self.doing} waits for ever: {self._state()}")
            outcome.result()
        finally:
            self.over = True
            self.allow()
            stop([one for one in (self._consumer, *self.loaders) if not _joined(one, MOMENT)])

    def _state(self) -> str:
        now = "waits" if any(one.is_alive() for one in self.loaders) else "has ended"
        return f"loads begun: {self.begun}, and your thread {now}"

    def allow(self, loads: int = 10**9) -> None:
        """Lets the first `loads` loads begin, all of them without a number."""
        with self._changed:
            self.allowed = loads
            self._changed.notify_all()

    def get(self) -> Any:
        """The next batch, or END."""
        self.doing = f"the consumer, at batch {self.asked},"
        self.asked += 1
        return next(self.given, END)

    def expect(self, number: int) -> None:
        """Raises: Wrong where what comes next isn't batch `number`; the end where there is none."""
        want = [*self.batches, END][number]
        try:
            got = self.get()
        except BaseException as error:
            error.add_note(f"as the consumer asked for batch {number}")
            raise
        if got is not want:
            told = ["the end" if one is END else shown(one) for one in (want, got)]
            raise Wrong(f"where batch {number} should come, which is {told[0]}, you give {told[1]}")

    def pause(self, loads: int) -> None:
        """The consumer is busy until `loads` loads have begun, and a moment longer."""
        if not _comes(partial(self._begins, loads)):
            busy = f"depth {self.depth}: while the consumer is busy with batch {self.asked - 1}"
            raise Wrong(f"{busy}, the next {self.depth} aren't loaded: {self._state()}")
        self._begins(loads + 1, MOMENT)  # which would be a fault

    def _begins(self, loads: int, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.begun >= loads, seconds)

    def close(self) -> None:
        """Closes the generator, lets all loads go on, and sees that the loader has ended."""
        self.closed, self.doing = True, "close()"
        threading.Timer(MOMENT, self.allow).start()
        self.given.close()
        self.ended("after close()")

    def ended(self, after: str) -> None:
        """Raises: Wrong where a thread that has loaded is there yet."""
        for loader in list(self.loaders):
            if not _comes(partial(_joined, loader)):
                thread = "your thread is still there. Does it wait for room, or for you?"
                raise Wrong(f"{after}: {thread}")


def strange() -> list[Any]:
    """Batches that an answer may take for something else, in any order; no two are one object."""
    batches: list[Any] = [None, False, ..., [], ("end", None), ValueError("a batch, too")]
    batches += [torch.zeros(2, 2), np.arange(3.0), StopIteration(), queue.Empty, object()]
    return random.sample(batches, len(batches))


def _numbered(count: int) -> list[Any]:
    return [f"the data of batch {number}" for number in range(count)]


def runs_ahead(prefetched: Prefetched, depth: int) -> None:
    """Of more batches than anybody wants: as far ahead at each pause as it should be; closed."""

    def case(trial: Trial) -> None:
        for number in range(random.randint(2, 4)):
            trial.expect(number)
            trial.pause(number + 1 + depth)
        trial.close()

    Trial(_numbered(MANY), depth).run(prefetched, case)


def gives_all(prefetched: Prefetched, batches: list[Any], depth: int) -> None:
    """All of them, then the end; where `depth` is large enough, when all have been loaded."""

    def case(trial: Trial) -> None:
        for number in range(len(batches) + 1):
            trial.expect(number)
            if number == 0 and depth > len(batches) > 0:
                trial.pause(len(batches) + 1)
        trial.ended("after the last batch")

    Trial(batches, depth).run(prefetched, case)


def waits_for_the_loader(prefetched: Prefetched) -> None:
    """The consumer asks first, each time: for batches that aren't loaded, and for the end."""

    def case(trial: Trial) -> None:
        for number in range(4):
            threading.Timer(MOMENT, trial.allow, [number + 1]).start()
            try:
                trial.expect(number)
            finally:
                if trial.allowed <= number < 3:
                    raise Wrong(f"batch {number} was still being loaded when you went on: wait")
        trial.ended("after the last batch")

    Trial(_numbered(3), depth=2, allowed=0).run(prefetched, case)


def raises_in_place(prefetched: Prefetched, before: int) -> None:
    """The loader raises, long before the consumer comes to where it did."""
    error = random.choice([ValueError, OSError, queue.Empty])(f"batch {before} is broken")

    def case(trial: Trial) -> None:
        for number in range(before):
            trial.expect(number)
            if number == 0:
                trial.pause(before + 1)
        try:
            got = trial.get()
        except BaseException as raised:
            if (type(raised), str(raised)) != (type(error), str(error)):
                raise Wrong(f"loading batch {before} raised {error!r}, you {raised!r}") from raised
        else:
            gave = "your generator ends" if got is END else f"you give {shown(got)}"
            raise Wrong(f"loading batch {before} raised {error!r}, and {gave}")
        trial.ended("after the error")

    Trial(_numbered(before), before + 1, error).run(prefetched, case)


def closes_in_a_load(prefetched: Prefetched) -> None:
    """The consumer leaves while nothing is ready, and the next batch is being loaded."""

    def case(trial: Trial) -> None:
        trial.expect(0)
        trial.pause(2)
        trial.close()

    Trial(_numbered(MANY), depth=1, allowed=1).run(prefetched, case)


def _comes(happens: Callable[[float], bool]) -> bool:
    """Whether it happens within about PATIENCE; `happens(seconds)` waits for it that long."""
    return any(happens(PATIENCE / PARTS) for _ in range(PARTS))


def _joined(thread: threading.Thread, seconds: float) -> bool:
    thread.join(seconds)
    return not thread.is_alive()
