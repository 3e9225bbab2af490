"""The compiled step of the exercise that finds a recompilation, and what it sees of its calls."""

import random
from collections.abc import Sequence
from typing import Any

import torch

from course_utils.chapters.compile_and_graphs.fresh_compiles import Graphs, fresh

MOST = 4  # compilations of a steady loop: two that differ, a weight and a length that vary


def step(text: torch.Tensor, label: str, weight: Any, means: Any) -> torch.Tensor:
    """The step that the exercise's loop takes; the notebook shows the same lines."""
    loss = text.tanh().square().mean()
    if label == "step 0":
        return loss
    return means[-1] + weight * (loss - means[-1])


def running_means(texts: list[torch.Tensor]) -> list[float]:
    """What the loop returns: after each text, the mean of the losses until there."""
    losses = [text.double().tanh().square().mean().item() for text in texts]
    return [sum(losses[: k + 1]) / (k + 1) for k in range(len(losses))]


def lists_of_texts() -> list[list[torch.Tensor]]:
    """More texts than torch makes versions: of any lengths, some alike, all alike; then few."""
    count, alike = random.randint(12, 20), random.randint(5, 40)
    varied = [random.randint(5, 40) for _ in range(count)]
    several = [varied, [alike] * 3 + varied, [alike] * count, varied[:2], varied[:1], []]
    return [[random.uniform(0.2, 3) * torch.randn(n) for n in lengths] for lengths in several]


class Watched:
    """A step that was never compiled before: how often it compiles and runs, and with what."""

    def __init__(self) -> None:
        self.graphs = Graphs()
        self.calls = 0
        self._labels: dict[Any, None] = {}
        self._lengths: dict[int, None] = {}
        self._plain = fresh(step)
        self._compiled = torch.compile(self._plain, backend=self.graphs)

    def step(self, text: Any, label: Any, weight: Any, means: Any) -> Any:
        """Calls the compiled step, and where torch can't compile for these arguments the plain one.

        Raises: what the plain one raises, in Python's words.
        """
        from torch._dynamo.exc import TorchDynamoException

        self.calls += 1
        self._labels[repr(label)] = None
        if isinstance(means, Sequence):
            self._lengths[len(means)] = None
        try:
            return self._compiled(text, label, weight, means)
        except TorchDynamoException:
            return self._plain(text, label, weight, means)

    @property
    def changing(self) -> str:
        """In words, the arguments of which each would alone make it compile too often."""
        labels, lengths = list(self._labels), list(self._lengths)
        found = []
        if len(labels) > MOST:
            found.append(f"{len(labels)} labels ({labels[0]}, {labels[1]}, …)")
        if len(lengths) > MOST:
            found.append(f"lists of {len(lengths)} lengths ({lengths[0]}, {lengths[1]}, …)")
        return " and ".join(found)
