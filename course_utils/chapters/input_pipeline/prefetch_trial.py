"""An answer to the prefetcher's exercise, led step by step: what it loads, and what it gives.

No step sleeps: each waits for an event, in a thread of its own, and about `PATIENCE` at most, so
that an answer that waits for ever is told so and keeps nobody.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import Any

from course_utils.core.stopping import stop
from course_utils.lesson.answers import shown
from course_utils.lesson.exercises import Wrong

PATIENCE = 1.0  # seconds until a wait counts as one that never ends
PARTS = 50  # in which it is waited for: where the machine is busy each takes longer, and so do all
MOMENT = 0.03  # seconds in which what must not happen would
RUNAWAY = 100  # batches loaded for nobody, after which it isn't one that was in hand
END = object()


class Source:
    """An iterable that knows which threads load its batches, and how far ahead.

    Load `number` begins when `allowed` is over it; the end, or `error` in its place, is a load too.
    """

    def __init__(
        self,
        batches: Iterable[Any],
        depth: int,
        error: Exception | None = None,
        allowed: int = 10**9,
    ) -> None:
        self.batches, self.depth, self.error = batches, depth, error
        self.asked = self.begun = 0  # batches the consumer asked for, loads that began
        self.fault = ""
        self.closed = self.over = False
        self.loaders: dict[threading.Thread, None] = {}
        self._allowed = allowed
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[Any]:
        for batch in self.batches:
            if not self._load():
                return
            yield batch
        if self._load() and self.error:
            raise self.error

    def allow(self, loads: int = 10**9) -> None:
        """Lets the first `loads` loads begin, all of them without a number."""
        with self._changed:
            self._allowed = loads
            self._changed.notify_all()

    def begins(self, loads: int, seconds: float) -> bool:
        """Waits until so many loads began, or one that shouldn't have; whether they did."""
        with self._changed:
            self._changed.wait_for(lambda: self.begun >= loads or self.fault, seconds)
            return self.begun >= loads

    def _load(self) -> bool:
        """Counts a load, and waits until it may begin; False where the loader has to end."""
        loader = threading.current_thread()
        with self._changed:
            self.begun += 1
            self.loaders[loader] = None
            self.fault = self.fault or self._wrong_with(loader)
            self._changed.notify_all()
            number = self.begun
            self._changed.wait_for(lambda: number <= self._allowed or self.over)
            return not (self.fault or self.over)

    def _wrong_with(self, loader: threading.Thread) -> str:
        if isinstance(loader, _Consumer):
            return f"batch {self.begun - 1} was loaded by the thread that asked for it, not ahead"
        ahead = self.begun - self.asked
        if self.closed:
            over = ahead > self.depth + RUNAWAY
            return "after close() your thread goes on loading" if over else ""
        if ahead > self.depth + 1:
            return (
                f"depth {self.depth}: {_many(self.asked)} had been asked for, and {self.begun} "
                f"loaded: want at most {self.depth} that wait, and one in the thread's hand"
            )
        return ""


class _Consumer(threading.Thread):
    """Acts once; what that gave is its `outcome`. The threads that it begins are daemons too."""

    def __init__(self, act: Callable[[], Any]) -> None:
        super().__init__(daemon=True, name="consumer")
        self.act = act
        self.outcome: Future[Any] = Future()

    def run(self) -> None:
        try:
            self.outcome.set_result(self.act())
        except BaseException as error:
            self.outcome.set_exception(error)


class Trial:
    """One answer on one source. Made by `trial`, which ends what is left of it.

    Each method raises Wrong where the answer waits too long, or loads what it shouldn't.
    """

    def __init__(self, prefetched: Callable[..., Any], source: Source) -> None:
        self.source = source
        self._consumers: list[_Consumer] = []
        self._others, self._hook = set(threading.enumerate()), threading.excepthook
        self._raised: BaseException | None = None  # in a thread of the answer, and caught by nobody
        self._given: Any = None
        self._prefetched = prefetched

    def begin(self) -> None:
        """Calls the answer. Raises: Wrong where it returns what isn't a generator."""
        begun = self._do(lambda: self._prefetched(self.source, self.source.depth))
        given = self._end_of(begun, "calling prefetched(batches, depth)")
        if not isinstance(given, Generator):
            raise Wrong(f"you return {shown(given)}, want a generator: a function with yield")
        self._given = given

    def ask(self) -> "Future[Any]":
        """Asks for the next batch, without waiting for it; the future holds END after the last."""
        self.source.asked += 1
        return self._do(lambda: next(self._given, END))

    def get(self, asked: "Future[Any] | None" = None) -> Any:
        """The next batch, or what was `asked` for, or END; raises what the answer raises."""
        return self._end_of(asked or self.ask(), f"the consumer, at batch {self.source.asked - 1},")

    def pause(self, loads: int, then: str) -> None:
        """The consumer is busy until `loads` loads have begun; `then` is said where they don't."""
        begun = _comes(lambda seconds: self.source.begins(loads, seconds))
        self.source.begins(loads + 100, MOMENT)  # one too many is a fault, and ends this at once
        self._complain()
        if not begun:
            raise Wrong(f"{then}: {self._state()}")

    def close(self) -> None:
        """Closes the generator, lets all loads go on, and sees that the loader has ended."""
        self.source.closed = True
        closed = self._do(self._given.close)
        self.source.allow()
        try:
            self._end_of(closed, "close()")
        except Wrong:
            raise
        except BaseException as raised:
            raise Wrong(f"close() raises {raised!r}") from raised
        self.ended("after close()")

    def ended(self, after: str) -> None:
        """Raises: Wrong where a thread that has loaded is there yet."""
        for loader in list(self.source.loaders):
            if not _comes(partial(_joined, loader)):
                self._complain()
                raise Wrong(
                    f"{after}: your thread is still there. Does it wait for room, or for you?"
                )
        self._complain()

    def note(self, args: threading.ExceptHookArgs) -> None:
        """Keeps what a thread of the answer raised and nobody caught; other threads' go on."""
        if args.thread in self._others:
            self._hook(args)
        elif args.exc_type is not SystemExit:
            self._raised = args.exc_value

    def let_go(self) -> None:
        """Ends what the answer left: nothing loads, spins or keeps the kernel from ending."""
        self.source.over = True
        self.source.allow()
        stuck = any(not one.outcome.done() for one in self._consumers)
        if self._given is not None and not stuck:
            wait([self._do(self._given.close)], PATIENCE / 4)
        left: list[threading.Thread] = [c for c in self._consumers if not c.outcome.done()]
        left += [one for one in list(self.source.loaders) if not _joined(one, MOMENT)]
        stop(left)

    def _do(self, act: Callable[[], Any]) -> "Future[Any]":
        consumer = _Consumer(act)
        self._consumers.append(consumer)
        consumer.start()
        return consumer.outcome

    def _end_of(self, future: "Future[Any]", what: str) -> Any:
        _comes(lambda seconds: bool(wait([future], seconds).done))
        self._complain(stuck=not future.done())
        if not future.done():
            raise Wrong(f"{what} waits for ever: {self._state()}")
        return future.result()

    def _complain(self, stuck: bool = False) -> None:
        if self.source.fault:
            raise Wrong(self.source.fault)
        if self._raised is not None and (stuck or self._raised is not self.source.error):
            name = type(self._raised).__name__
            raise Wrong(f"your thread ended with {name}: {self._raised}, and nobody else was told")

    def _state(self) -> str:
        loaders = self.source.loaders
        if not loaders:
            return "no thread has begun to load"
        now = "waits" if any(one.is_alive() for one in loaders) else "has ended"
        return f"loads begun: {self.source.begun}, and your thread {now}"


@contextmanager
def trial(prefetched: Callable[..., Any], source: Source) -> Iterator[Trial]:
    """The answer, called on `source`; whatever happens, it is ended afterwards."""
    one, before = Trial(prefetched, source), threading.excepthook
    threading.excepthook = one.note
    try:
        one.begin()
        yield one
    finally:
        one.let_go()
        threading.excepthook = before


def _comes(happens: Callable[[float], bool]) -> bool:
    """Whether it happens within about PATIENCE; `happens(seconds)` waits for it that long."""
    return any(happens(PATIENCE / PARTS) for _ in range(PARTS))


def _joined(thread: threading.Thread, seconds: float) -> bool:
    thread.join(seconds)
    return not thread.is_alive()


def _many(batches: int) -> str:
    return f"{batches} batch" + "es" * (batches != 1)
