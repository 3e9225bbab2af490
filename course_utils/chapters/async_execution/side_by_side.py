"""Work on two queues at once: queues filled first, and a queue beside one that is busy in Python.

A queue is whatever has `launch`, `synchronize` and `record_event`, as chapter 2's backend has.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any

from course_utils.core.timing import seconds

Work = Callable[[], Any]


def drain(hold: Callable[[Any], Work], *pairs: tuple[Any, Work], count: int = 50) -> float:
    """Seconds until each queue of the (queue, work) pairs has done its work `count` times.

    `hold` keeps a queue from running until what it returns is called: all are filled before any
    begins, so that launching doesn't count.
    """
    releases = [hold(on) for on, _ in pairs]
    for on, work in pairs:
        for _ in range(count):
            on.launch(work)
    for release in releases:
        release()

    def wait_for_all() -> None:
        for on, _ in pairs:
            on.synchronize()

    return seconds(wait_for_all)


def seconds_beside_a_loop(
    on: Any, other: Any, work: Work, interval: float, count: int = 10
) -> float:
    """Seconds that one `work` takes on a queue while `other` runs a loop of Python.

    `interval`, in seconds, is for how long a thread that wants the GIL waits before it asks the
    one that has it to let go: sys.setswitchinterval, put back afterwards.
    """
    stop, before = threading.Event(), sys.getswitchinterval()

    def loop() -> None:
        while not stop.is_set():
            sum(range(1000))

    def all_of_it() -> None:
        for _ in range(count):
            on.launch(work)
        on.launch(stop.set)
        on.synchronize()

    sys.setswitchinterval(interval)
    try:
        other.launch(loop)
        took = seconds(all_of_it)
    finally:
        stop.set()
        sys.setswitchinterval(before)
    other.synchronize()
    return took / count
