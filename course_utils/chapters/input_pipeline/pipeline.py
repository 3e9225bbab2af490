"""The input pipeline in virtual time: who loads which batch when, and when the device waits.

It deals batches as torch's DataLoader does (`torch/utils/data/dataloader.py`), without a clock: a
setting has one length, and the same one every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Batch:
    """When a batch was loaded, from `begun` to `ready`, and used by the device, `taken` to `done`.

    Seconds since the loader was asked for its iterator; `worker` is None where there are none.
    """

    worker: int | None
    begun: float
    ready: float
    taken: float
    done: float


@dataclass(frozen=True)
class Run:
    """An epoch: its batches in order, and the seconds that starting all the workers took."""

    batches: tuple[Batch, ...]
    started: float

    @property
    def seconds(self) -> float:
        """Until the device is done with the last batch."""
        return self.batches[-1].done

    @property
    def idle(self) -> float:
        """Seconds that the device had nothing to do, those before the first batch among them."""
        return self.seconds - sum(batch.done - batch.taken for batch in self.batches)

    @property
    def idle_share(self) -> float:
        return self.idle / self.seconds if self.seconds else 0.0

    @property
    def idle_later(self) -> float:
        """Seconds that the device waited for batches after the first."""
        return self.idle - self.batches[0].taken


def simulate(loads: Sequence[float], step: float, workers: int, depth: int, start: float) -> Run:
    """Loads one batch in each of `loads` seconds, and takes `step` seconds for each on the device.

    The workers are started one after the other, `start` seconds each; then `depth · workers`
    batches are dealt out, in turn, so that batch i is worker i mod workers'. A worker loads what it
    was dealt, in order. Batches are handed over in order too: one that is slow holds up those
    behind it. With each that the consumer takes, one more is dealt. The consumer takes a batch as
    soon as the device is done with the one before. Without workers, loading and steps take turns,
    and `depth` and `start` mean nothing.

    `depth` is DataLoader's prefetch_factor, `workers` its num_workers. What it doesn't count: the
    way of a batch from its worker, workers that share a core, their end after the last batch.
    Raises: ValueError for no batch, a negative time or count, and a depth below 1.
    """
    _check(len(loads), workers, depth, (*loads, step, start))
    started = workers * start
    batches: list[Batch] = []
    for i, load in enumerate(loads):
        device_free = batches[-1].done if batches else started
        if workers:
            dealt_with, before = i - depth * workers, i - workers
            dealt = batches[dealt_with].taken if dealt_with >= 0 else started
            begun = max(dealt, batches[before].ready) if before >= 0 else dealt
        else:
            begun = device_free
        taken = max(begun + load, device_free)
        worker = i % workers if workers else None
        batches.append(Batch(worker, begun, begun + load, taken, taken + step))
    return Run(tuple(batches), started)


def epoch_seconds(n: int, load: float, step: float, workers: int, start: float) -> float:
    """The epoch of `n` equal batches by formula: start + first + (n − 1) · the slower + last step.

    Starting takes `workers · start`, the first batch `load`, each of the others the slower of
    `load / workers` and `step`, and the last step is one more `step`; without workers it is
    `n · (load + step)`. The depth isn't in it: where all batches take as long, it changes nothing.

    It is what `simulate` gives where the device is the slower, and where n − 1 divides by
    `workers`. Elsewhere it says r · (load / workers − step) too much, for the r batches in which
    n − 1 exceeds a multiple of `workers`: the last ones are ready together. That is less than one
    load, and it is never too little.
    Raises: ValueError as `simulate` does.
    """
    _check(n, workers, 1, (load, step, start))
    if not workers:
        return n * (load + step)
    return workers * start + load + (n - 1) * max(load / workers, step) + step


def _check(n: int, workers: int, depth: int, times: Sequence[float]) -> None:
    if n < 1:
        raise ValueError("There is no batch: an epoch has one or more.")
    if workers < 0 or depth < 1:
        raise ValueError(f"{workers} workers, depth {depth}: give 0 workers or more, depth 1 up.")
    wrong = [seconds for seconds in times if not seconds >= 0]
    if wrong:
        raise ValueError(f"A load, a step or a start of {wrong[0]} seconds: give 0 or more.")
