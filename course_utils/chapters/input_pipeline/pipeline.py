"""The input pipeline in virtual time: which worker loads which batch when, and waits.

It distributes batches as torch's DataLoader does (`torch/utils/data/dataloader.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Batch:
    """When a batch was loaded, from `begun` to `ready`, and used by the device, `taken` to `done`,
    in seconds since the loader was asked for its iterator; `worker` is None without workers."""

    worker: int | None
    begun: float
    ready: float
    taken: float
    done: float


@dataclass(frozen=True)
class Run:
    """An epoch: its batches in order, and the seconds that starting all workers took."""

    batches: tuple[Batch, ...]
    started: float

    @property
    def seconds(self) -> float:
        """Seconds until the device is done with the last batch."""
        return self.batches[-1].done

    @property
    def idle(self) -> float:
        """Seconds that the device waited, also for the first batch."""
        return self.seconds - sum(batch.done - batch.taken for batch in self.batches)

    @property
    def idle_share(self) -> float:
        return self.idle / self.seconds if self.seconds else 0.0

    @property
    def idle_later(self) -> float:
        """Seconds that the device waited for batches after the first."""
        return self.idle - self.batches[0].taken


def simulate(loads: Sequence[float], step: float, workers: int, depth: int, start: float) -> Run:
    """Simulates an epoch: batch i takes `loads[i]` seconds to load, and `step` on the device.

    The workers are started one after the other, `start` seconds each; then `depth · workers`
    batches are sent to them in turn, batch i to worker i mod `workers`, and one more whenever the
    consumer takes one. Batches are handed over in order: a slow one holds up those behind it.
    Without workers, loading and steps take turns. `depth` is DataLoader's prefetch_factor,
    `workers` its num_workers. Not counted: sending a batch, sharing cores, the workers' end.
    """
    started = workers * start
    batches: list[Batch] = []
    for i, load in enumerate(loads):
        device_free = batches[-1].done if batches else started
        if workers:
            sent_with, before = i - depth * workers, i - workers
            sent = batches[sent_with].taken if sent_with >= 0 else started
            begun = max(sent, batches[before].ready) if before >= 0 else sent
        else:
            begun = device_free
        taken = max(begun + load, device_free)
        worker = i % workers if workers else None
        batches.append(Batch(worker, begun, begun + load, taken, taken + step))
    return Run(tuple(batches), started)
