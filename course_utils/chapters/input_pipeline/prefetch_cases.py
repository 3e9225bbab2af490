"""The cases that an answer to the prefetcher's exercise is led through; each raises Wrong.

A case is `(prefetched, …)`; what it needs to wait for, it waits for by events (`prefetch_trial`).
"""

import queue
import random
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

import numpy as np
import torch

from course_utils.chapters.input_pipeline.prefetch_trial import END, MOMENT, Source, Trial, trial
from course_utils.lesson.answers import shown
from course_utils.lesson.exercises import Wrong

MANY = 1000  # batches: as good as endless for a loader that may be a few ahead


def strange() -> list[Any]:
    """Batches that an answer may take for something else, in any order; no two are one object."""
    batches: list[Any] = [None, False, ..., [], ("end", None), ValueError("a batch, too")]
    batches += [torch.zeros(2, 2), np.arange(3.0), StopIteration(), queue.Empty, object()]
    return random.sample(batches, len(batches))


def _numbered(count: int) -> list[Any]:
    return [f"the data of batch {number}" for number in range(count)]


def runs_ahead(prefetched: Callable[..., Any], depth: int) -> None:
    """Of more batches than anybody wants: as far ahead at each pause as it should be; closed."""
    batches = _numbered(MANY)
    with trial(prefetched, Source(batches, depth)) as led:
        for number in range(random.randint(2, 4)):
            _compare(number, batches, led.get())
            busy = f"depth {depth}: while the consumer is busy with batch {number}"
            led.pause(number + 1 + depth, f"{busy}, the next {depth} aren't loaded")
        led.close()


def gives_all(prefetched: Callable[..., Any], batches: list[Any], depth: int) -> None:
    """All of them, then the end; where `depth` is large enough, when all have been loaded."""
    with trial(prefetched, Source(batches, depth)) as led:
        for number in range(len(batches)):
            _compare(number, batches, _got(led, number, batches))
            if number == 0 and depth > len(batches):
                led.pause(len(batches) + 1, f"{depth} batches fit, and the thread loads fewer")
        _compare(len(batches), batches, led.get())
        led.ended("after the last batch")


def waits_for_the_loader(prefetched: Callable[..., Any]) -> None:
    """The consumer asks first, each time: for batches that aren't loaded, and for the end."""
    batches = _numbered(3)
    with trial(prefetched, Source(batches, depth=2, allowed=0)) as led:
        for number in range(len(batches) + 1):
            asked = led.ask()
            if wait([asked], MOMENT).done and number < len(batches):
                gave = "ended" if led.get(asked) is END else f"gave {shown(led.get(asked))}"
                raise Wrong(f"your generator {gave} when batch {number} was being loaded: wait")
            led.source.allow(number + 1)
            _compare(number, batches, led.get(asked))
        led.ended("after the last batch")


def raises_in_place(prefetched: Callable[..., Any], before: int) -> None:
    """The loader raises, long before the consumer comes to where it did."""
    error = random.choice([ValueError, OSError, queue.Empty])(f"batch {before} is broken")
    batches = _numbered(before)
    with trial(prefetched, Source(batches, before + 1, error)) as led:
        for number in range(before):
            _compare(number, batches, _got(led, number, batches, error))
            if number == 0:
                led.pause(before + 1, f"{before + 1} batches fit, and the thread loads fewer")
        try:
            got = led.get()
        except Wrong:
            raise
        except BaseException as raised:
            if (type(raised), str(raised)) != (type(error), str(error)):
                raise Wrong(f"loading batch {before} raised {error!r}, you {raised!r}") from raised
        else:
            gave = "your generator ends" if got is END else f"you give {shown(got)}"
            raise Wrong(f"loading batch {before} raised {error!r}, and {gave}")
        led.ended("after the error")


def closes_in_a_load(prefetched: Callable[..., Any]) -> None:
    """The consumer leaves while nothing is ready, and the next batch is being loaded."""
    batches = _numbered(MANY)
    with trial(prefetched, Source(batches, depth=1, allowed=1)) as led:
        _compare(0, batches, led.get())
        led.pause(2, "depth 1: batch 1 isn't loaded while the consumer is busy with batch 0")
        led.close()


def _got(led: Trial, number: int, batches: list[Any], error: Exception | None = None) -> Any:
    """The next batch. Raises: Wrong where a batch was raised, or the error of a later one."""
    try:
        return led.get()
    except BaseException as raised:
        if error is not None and str(raised) == str(error):
            raise Wrong(f"the error of batch {len(batches)} came before batch {number}") from raised
        if raised is batches[number]:
            raise Wrong(f"batch {number}, {raised!r}, is data, and you raise it") from raised
        raise


def _compare(number: int, batches: list[Any], got: Any) -> None:
    """Raises: Wrong where `got` isn't batch `number`, or the end where there are no more."""
    if number == len(batches):
        if got is not END:
            raise Wrong(f"after the last of {number} batches you give {shown(got)}")
    elif got is END:
        raise Wrong(f"you end before batch {number}, which is {shown(batches[number])}")
    elif got is not batches[number]:
        places = [place for place, one in enumerate(batches) if one is got]
        if places:
            raise Wrong(f"batch {places[0]} came where batch {number} should")
        raise Wrong(f"batch {number} is {shown(batches[number])}, you give {shown(got)}")
