"""Checkers for chapter 05, "Input pipeline"."""

import multiprocessing
import random
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from course_utils.lesson.answers import against, as_list, as_numbers
from course_utils.lesson.exercises import Wrong, exercise

# ---- What the workers of a real DataLoader draw from a generator that their dataset holds.

EACH = 4  # draws of a worker in an epoch
PATIENCE = 4.0  # seconds for a batch of a worker


@dataclass(frozen=True)
class Draw:
    """A number, and the worker and epoch that drew it, from 0."""

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


def drawn(worker_init: Callable[[int], Any], workers: int, seed: int) -> list[Draw]:
    """Draws of workers in two epochs after `torch.manual_seed(seed)`, in the loader's order.

    The page's own random state is kept. Raises: Wrong where a worker fails, or can't be forked.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise Wrong("this check forks workers, as Linux and macOS can. On Windows, use WSL.")
    # warnings: of more workers than cores, of forks beside threads
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings(action="ignore"):
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
            for epoch in range(2)
            for value, worker in _samples(loader)
        ]


def _samples(loader: "DataLoader[tuple[float, int]]") -> list[tuple[float, int]]:
    """One epoch. Raises: Wrong, with the last line of a worker's error.

    The error's frames hold the loader's iterator, whose workers would end 5 s later: clear them.
    """
    try:
        return [sample for batch in loader for sample in batch]
    except Exception as error:
        traceback.clear_frames(error.__traceback__)
        raise Wrong(f"in a worker: {str(error).strip().splitlines()[-1]}") from None


@exercise(
    "input.batches",
    todo="write batches(lengths, budget): lists of indices, padded within the budget.",
    hints=(
        "A batch costs its number of sentences times its longest. Which sentences should share a "
        "batch with the longest one?",
        "Sort the indices by length, longest first. The first sentence decides how many fit: "
        "budget // its length. Take these, and begin again with the rest.",
    ),
)
def check_batches(batches: Callable[[list[int], int], Any]) -> str:
    """Each index once, no batch over its budget, and as few batches as the greedy, best way."""
    for lengths, budget in _sentences():
        case = f"batches({lengths}, {budget})"
        found = [[int(i) for i in as_numbers(one)] for one in as_list(batches(lengths, budget))]
        flat = sorted(i for one in found for i in one)
        if flat != list(range(len(lengths))):
            raise Wrong(f"{case}: your batches hold the indices {flat}, want each of them once")
        for one in found:
            if one and (size := len(one) * max(lengths[i] for i in one)) > budget:
                raise Wrong(f"{case}: {one} is {size} tokens with its padding, over the budget")
        if len(found) > (least := _fewest(lengths, budget)):
            raise Wrong(f"{case}: you make {len(found)} batches, {least} are enough")
    return "60 sets of sentences: each index once, within the budget, as few batches as possible"


def _fewest(lengths: list[int], budget: int) -> int:
    """The fewest batches: the longest fills its batch with the next longest, and so on."""
    left, count = sorted(lengths, reverse=True), 0
    while left:
        left, count = left[budget // left[0] :], count + 1
    return count


def _sentences() -> Iterator[tuple[list[int], int]]:
    yield from [([], 8), ([8], 8), ([1, 8, 1, 8, 1], 8), ([3, 3, 3, 5], 9), ([4] * 6, 8)]
    for _ in range(55):
        longest = random.randint(1, 40)
        lengths = [random.randint(1, longest) for _ in range(random.randint(1, 20))]
        yield lengths, random.randint(longest, 4 * longest)


@exercise(
    "input.seeds",
    todo="write worker_init(worker_id): each worker's dataset draws from a generator of its own.",
    hints=(
        "torch.utils.data.get_worker_info() tells a worker its id, its seed and its dataset.",
        "The seed differs from worker to worker and from epoch to epoch, and follows from "
        "torch.manual_seed. What kind of generator was dataset.rng?",
    ),
)
def check_seeds(worker_init: Callable[[int], Any]) -> str:
    """Real loaders, of two and of three workers: what they draw in two epochs, by seed."""
    seed = random.randrange(2**32)
    two, again = (drawn(worker_init, 2, seed) for _ in range(2))
    three = drawn(worker_init, 3, seed + 1)
    for draws in (two, three):
        _differ(draws)
    if [one.value for one in two] != [one.value for one in again]:
        raise Wrong(
            f"after torch.manual_seed({seed}) for the second time the workers drew other numbers: "
            "nobody could repeat this run"
        )
    if {one.value for one in two} & {one.value for one in three}:
        raise Wrong("after torch.manual_seed with another seed the workers drew the same numbers")
    return "two and three workers, two epochs, two seeds: no number twice, and the same ones again"


def _differ(draws: list[Draw]) -> None:
    first: dict[float, Draw] = {}
    for one in draws:
        other = first.setdefault(one.value, one)
        if other is not one:
            raise Wrong(f"{other} and {one} both drew {one.value:.6f}")


@exercise(
    "input.resume",
    todo="write indices_left(n, seed, epoch, seen, rank, world_size): what is still to be read.",
    hints=(
        "The epoch's order is the same on every rank, and whatever the number of ranks. Which "
        "part of it have all of them together seen?",
        "What is left begins at `seen`. A slice with a step deals it out.",
    ),
)
def check_resume(indices_left: Callable[..., Any]) -> str:
    """Epochs of which every sample is counted, with stops between which the ranks change."""

    def reference(
        n: int, seed: int, epoch: int, seen: int, rank: int, world_size: int
    ) -> list[int]:
        generator = torch.Generator().manual_seed(seed + epoch)
        return torch.randperm(n, generator=generator).tolist()[seen + rank :: world_size]

    def answer(*case: int) -> list[float]:
        before = torch.random.get_rng_state()
        left = as_numbers(indices_left(*case))
        if not torch.equal(before, torch.random.get_rng_state()):
            raise Wrong("torch's own generator was touched, from which dropout draws: make another")
        return left

    against(answer, reference, _stops())
    return "epochs of 1 to 300 samples, stopped and resumed on other numbers of ranks"


def _stops() -> Iterator[tuple[int, ...]]:
    """Two epochs each of few samples and of many; at each stop, every rank of a random number."""
    for n in (1, 5, random.randint(30, 60), random.randint(200, 300)):
        seed, first = random.randrange(2**31), random.randrange(100)
        for epoch in (first, first + 1):
            for seen in [0, *random.choices(range(n), k=2), n]:
                size = random.randint(1, 6)
                yield from ((n, seed, epoch, seen, rank, size) for rank in range(size))
