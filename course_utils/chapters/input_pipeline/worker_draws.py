"""What the workers of a real DataLoader draw from a generator that their dataset holds."""

import multiprocessing
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from course_utils.lesson.exercises import Wrong

EACH = 4  # draws of a worker in an epoch
PATIENCE = 4.0  # seconds for a batch of a worker


@dataclass(frozen=True)
class Draw:
    """A number, and who drew it: the worker of so many, and the epoch, from 0."""

    value: float
    worker: int
    workers: int
    epoch: int

    def __str__(self) -> str:
        return f"worker {self.worker} of {self.workers} in epoch {self.epoch}"


class Drawing(Dataset[tuple[float, int]]):
    """Each sample is a number that `rng` draws; the fork gives every worker a copy of `rng`."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.rng = np.random.default_rng(0)

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[float, int]:
        info = get_worker_info()
        return float(self.rng.random()), info.id if info else 0


def drawn(
    worker_init: Callable[[int], Any], workers: int, seed: int, epochs: int = 2
) -> list[Draw]:
    """What the workers draw in some epochs after `torch.manual_seed(seed)`, in the loader's order.

    The page's own random numbers go on as if nobody had seeded.
    Raises: Wrong where a worker raises, ends or waits for ever, and on a system without fork.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise Wrong("this check forks workers, as Linux and macOS can. On Windows, use WSL.")
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more workers than cores, of forks beside threads
        torch.default_generator.manual_seed(seed)  # a GPU's are left alone
        loader = DataLoader(
            Drawing(EACH * workers),
            batch_size=EACH // 2,
            num_workers=workers,
            worker_init_fn=worker_init,
            collate_fn=list,
            multiprocessing_context="fork",
            timeout=PATIENCE,
        )
        return [
            Draw(value, worker, workers, epoch)
            for epoch in range(epochs)
            for value, worker in _samples(loader)
        ]


def _samples(loader: "DataLoader[tuple[float, int]]") -> list[tuple[float, int]]:
    """One epoch. Raises: Wrong, with the last line of what torch tells of a worker's error.

    An error's frames hold the loader's iterator in a cycle. Collected with its queues it can't
    tell its workers to end, and waits 5 s for each: so the frames are cleared at once.
    """
    try:
        return [sample for batch in loader for sample in batch]
    except Exception as error:
        traceback.clear_frames(error.__traceback__)
        raise Wrong(f"in a worker: {str(error).strip().splitlines()[-1]}") from None
