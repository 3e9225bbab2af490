"""Checkers for chapter 12, "Data parallelism"."""

import copy
import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.chapters.collectives.simulated_ranks import Deadlock, simulate
from course_utils.chapters.data_parallelism.links import PlayedLink, apart
from course_utils.lesson.answers import compare
from course_utils.lesson.exercises import Wrong, exercise

Batches = list[tuple[Tensor, Tensor]]
RATE, CLIP, STEPS = 0.1, 1.0, 10


@dataclass(frozen=True)
class Step:
    """One step of `train_alone`: each rank's loss, that of all after the update, and the
    gradient's norm before it is clipped.
    """

    losses: tuple[float, ...]
    later: float
    norm: float


def train_alone(model: nn.Module, shards: list[Batches], enough: float) -> list[Step]:
    """Trains in one process with the whole batches, as exercise 3's loop means; its steps."""
    steps: list[Step] = []
    for parts in zip(*shards, strict=True):
        inputs, targets = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
        model.zero_grad()
        errors = (model(inputs) - targets).square()
        errors.mean().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(RATE * torch.as_tensor(p.grad))
            later = F.mse_loss(model(inputs), targets).item()
        own = errors.detach().view(len(shards), -1).mean(1).tolist()
        steps.append(Step(tuple(own), later, norm.item()))
        if mean(own) < enough:
            break
    return steps


def draw_problem(n: int) -> tuple[list[nn.Module], list[Batches], float]:
    """Draws models and equal shards of `n` ranks, and the loss at which all are to stop.

    In the problem every slip shows: see `_tells_slips`.
    """
    while True:
        models: list[nn.Module] = [nn.Linear(3, 1) for _ in range(n)]
        target = nn.Linear(3, 1)
        inputs = torch.randn(n, STEPS, 4, 3)
        with torch.no_grad():
            targets = target(inputs) + 0.3 * torch.randn(n, STEPS, 4, 1)
        shards = [list(zip(x, y, strict=True)) for x, y in zip(inputs, targets, strict=True)]
        steps = train_alone(copy.deepcopy(models[0]), shards, 0.0)
        enough = 1.05 * min(mean(step.losses) for step in steps)
        if _tells_slips(steps, enough):
            return models, shards, enough


def _tells_slips(steps: Sequence[Step], enough: float) -> bool:
    """Whether some gradients are clipped and others not, and a rank that looks at another loss
    (one rank's, the smallest, the largest, that after the update) stops at another step.
    """
    stop = _first((mean(step.losses) for step in steps), enough)
    norms = [step.norm for step in steps[: stop + 1]]
    if not (2 < stop < STEPS - 1 and norms[-1] > 0.05 and min(norms) < 0.8 and max(norms) > 1.25):
        return False
    own = [_first(losses, enough) for losses in zip(*(step.losses for step in steps), strict=True)]
    largest = _first((max(step.losses) for step in steps), enough)
    later = _first((step.later for step in steps), enough)
    return min(own) < stop < max(own) and stop not in (*own, largest, later)


def _first(losses: Iterable[float], enough: float) -> int:
    """Returns the first step whose loss is below the bound, or STEPS."""
    return next((step for step, loss in enumerate(losses) if loss < enough), STEPS)


def flat(model: nn.Module) -> Tensor:
    """Returns all weights of a model as one vector."""
    return nn.utils.parameters_to_vector(model.parameters()).detach()


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


@exercise(
    "data_parallelism.train",
    todo="write train(model, batches, net, enough) without the loop's three bugs.",
    hints=(
        "Compare with one process: which weights do the ranks begin with, what is clipped, and "
        "who decides when it is enough?",
        "net.broadcast(p, 0) for every parameter. Clip the averaged gradient. The loss that "
        "decides is the mean over the ranks: then all stop together.",
    ),
)
def check_train(train: Callable[[nn.Module, Batches, PlayedLink, float], None]) -> str:
    """Replicas with different weights on 2 and 3 ranks must end with those of one process, which
    may begin with any rank's weights, or with their mean.
    """
    for n in (2, 3):
        models, shards, enough = draw_problem(n)
        middle = copy.deepcopy(models[0])
        start = torch.stack([flat(model) for model in models]).mean(0)
        nn.utils.vector_to_parameters(start, middle.parameters())
        wanted = [*copy.deepcopy(models), middle]
        for model in wanted:
            train_alone(model, shards, enough)

        def work(link: PlayedLink, problem: Any = (models, shards, enough)) -> None:
            models, shards, enough = problem
            train(models[link.rank], list(shards[link.rank]), link, enough)

        _play(n, work)
        _require_replicas(f"{n} ranks: ", [flat(m) for m in models], [flat(m) for m in wanted])
    return "2 and 3 ranks: the weights of one process with the whole batches, on each"


def _require_replicas(case: str, found: Sequence[Tensor], wanted: Sequence[Tensor]) -> None:
    for rank, x in enumerate(found):
        if not x.isfinite().all():
            raise Wrong(f"{case}at the end, rank {rank}'s weights are nan or infinite")
        if not apart(x, found[0]) <= 1e-5:
            far = f"{100 * apart(x, found[0]):.0f}% away from rank 0's"
            raise Wrong(f"{case}at the end, rank {rank}'s weights are {far}: the replicas differ")
    if not any(apart(found[0], right) <= 1e-4 for right in wanted):
        far = f"{100 * apart(found[0], wanted[0]):.1f}% away from those of one process"
        raise Wrong(f"{case}the replicas agree, and are {far} with the whole batches")


def _play(n: int, work: Callable[[PlayedLink], None]) -> None:
    """Simulates ranks as threads. Raises: Wrong for a deadlock."""
    try:
        simulate(n, lambda net: work(PlayedLink(net)))
    except Deadlock as stuck:
        raise Wrong(f"{n} ranks: {stuck}") from None
