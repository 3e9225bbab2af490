"""Checkers for chapter 12, "Data parallelism"."""

import copy
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.chapters.collectives.simulated_ranks import Deadlock, simulate
from course_utils.chapters.data_parallelism.links import PlayedLink
from course_utils.lesson.answers import compare
from course_utils.lesson.exercises import Wrong, exercise


@exercise(
    "data_parallelism.average",
    todo="write average(gradients, count, net): the whole batch's mean, from unequal shards.",
    hints=(
        "A rank with eight samples has eight votes: what must it send instead of its mean?",
        "Multiply by count, add up over the ranks, and divide by the number of all samples, "
        "which is a sum over the ranks too: net.all_reduce(torch.tensor([float(count)])).",
    ),
)
def check_average(average: Callable[[list[Tensor], int, PlayedLink], None]) -> str:
    """Unequal shards on 2, 3 and 4 ranks, one of them empty: the whole batch's mean on each."""
    for n in (2, 3, 4):
        counts = [random.randint(1, 9) for _ in range(n)]
        counts[random.randrange(n)] = 0 if n > 2 else 10
        samples = [[torch.randn(count, *shape) for shape in ((3,), (2, 4))] for count in counts]
        given = [[x.mean(0) if len(x) else torch.zeros(x.shape[1:]) for x in s] for s in samples]
        want = [torch.cat(parts).mean(0) for parts in zip(*samples, strict=True)]

        def work(link: PlayedLink, given: Any = given, counts: Any = counts) -> None:
            average(given[link.rank], counts[link.rank], link)

        before = [[x.clone() for x in gradients] for gradients in given]
        _play(n, work)
        for rank, gradients in enumerate(given):
            where = f"shards of {counts}: the gradients on rank {rank}"
            if all(map(torch.equal, gradients, before[rank])):
                raise Wrong(f"{where} are unchanged: write the averages into them, with copy_ say")
            compare(gradients, [x.tolist() for x in want], where, 1e-5, 1e-5)
    return "2, 3 and 4 ranks with random shards, one of them empty"


class _Crossing(nn.Module):
    """Four layers; the two in the middle, of equal size, run in another order on odd ranks."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(2, 3), nn.Linear(3, 1)
        self.middle = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.order = (0, 1) if rank % 2 else (1, 0)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x).tanh()
        for place in self.order:
            x = self.middle[place](x).tanh()
        out: Tensor = self.last(x).square().mean()
        return out


def plan(model: nn.Module, limit: int) -> list[list[int]]:
    """Returns the buckets as places of parameters, the last first, by the exercise's rule."""
    buckets: list[list[int]] = []
    size = 0
    for place, p in reversed(list(enumerate(model.parameters()))):
        if not buckets or size + p.nbytes > limit:
            buckets.append([])
            size = 0
        buckets[-1].append(place)
        size += p.nbytes
    return buckets


@exercise(
    "data_parallelism.ddp",
    todo="write data_parallel(model, limit, net): after it, backward averages over the ranks.",
    hints=(
        "Broadcast first. Make the list of buckets once. In a hook that "
        "p.register_post_accumulate_grad_hook(hook) adds for every p, remember that p is ready.",
        "Count the buckets that were sent. While the next one has all of its gradients: "
        "concatenate, all_reduce, divide, copy back, count. When all are sent, start afresh.",
    ),
)
def check_ddp(data_parallel: Callable[[nn.Module, int, PlayedLink], None]) -> str:
    """Two steps on 2 and 3 ranks, six limits: gradients, messages, and when each was sent."""
    sizes = [p.nbytes for p in _Crossing(0).parameters()]
    limits = [1, sizes[0], sum(sizes[-2:]), sum(sizes[-2:]) - 1, sum(sizes[2:]), sum(sizes)]
    for case, limit in enumerate(limits):
        n = 2 + case % 2
        models, batches = [_Crossing(rank) for rank in range(n)], torch.randn(2, n, 5, 2)
        alone = copy.deepcopy(models)
        seen: dict[int, list[Any]] = {}

        def work(link: PlayedLink, case: Any = (models, batches, limit, seen)) -> None:
            models, batches, limit, seen = case
            noted = _note(models[link.rank], link)
            data_parallel(models[link.rank], limit, link)
            seen[link.rank] = [noted(batch[link.rank]) for batch in batches]

        _play(n, work)
        places = plan(models[0], limit)
        for step, rank in itertools.product(range(2), range(n)):
            where = f"{n} ranks, limit {limit}: rank {rank}, step {step + 1}: "
            gradients, sent, ready = seen[rank][step]
            bytes_of = [sum(sizes[place] for place in bucket) for bucket in places]
            compare(sent, bytes_of, f"{where}the bytes of each message, last parameter first")
            want = _mean_gradients(alone, batches[step])
            compare(gradients, [x.tolist() for x in want], f"{where}p.grad", 1e-5, 1e-5)
            due = [_full(places, [p for p, _ in ready[:at]]) for at in range(len(ready))]
            before = f"{where}messages sent before the 1st, 2nd, … gradient was ready"
            compare([count for _, count in ready], due, before)
    return "2 and 3 ranks, six limits, two steps each: means, messages, and when each was sent"


def _note(model: nn.Module, link: PlayedLink) -> Callable[[Tensor], Any]:
    """Returns a step that gives its gradients, its messages' sizes, and for each gradient, in the
    order in which they got ready, its place and how many messages had been sent.
    """
    ready: list[tuple[int, int]] = []
    for place, p in enumerate(model.parameters()):
        p.register_post_accumulate_grad_hook(
            lambda _, place=place: ready.append((place, len(link.sizes)))
        )

    def step(x: Tensor) -> Any:
        ready.clear()
        first = len(link.sizes)
        model.zero_grad()
        model(x).backward()
        gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        return gradients, link.sizes[first:], [(place, sent - first) for place, sent in ready]

    return step


def _mean_gradients(models: Sequence[nn.Module], batch: Tensor) -> list[Tensor]:
    """Returns the mean of all ranks' gradients, where all have rank 0's weights."""
    found = []
    for model, x in zip(models, batch, strict=True):
        model.load_state_dict(models[0].state_dict())
        found.append(torch.autograd.grad(model(x), list(model.parameters())))
    return [torch.stack(parts).mean(0) for parts in zip(*found, strict=True)]


def _full(buckets: Sequence[Sequence[int]], ready: Sequence[int]) -> int:
    """Counts the buckets, in order, that have all their gradients."""
    return next((k for k, b in enumerate(buckets) if not {*b} <= {*ready}), len(buckets))


def _play(n: int, work: Callable[[PlayedLink], None]) -> None:
    """Simulates ranks as threads. Raises: Wrong for a deadlock."""
    try:
        simulate(n, lambda net: work(PlayedLink(net)))
    except Deadlock as stuck:
        raise Wrong(f"{n} ranks: {stuck}") from None
