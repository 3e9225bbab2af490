"""Checkers for chapter 12, "Data parallelism"."""

import copy
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.chapters.collectives.simulated_ranks import Deadlock, SimulatedNet, simulate
from course_utils.chapters.data_parallelism.links import PlayedLink, apart
from course_utils.lesson.answers import compare
from course_utils.lesson.exercises import Wrong, exercise

# ---- Problems for chapter 12's third exercise, drawn so that each slip of its loop shows at the
# end.

Batches = list[tuple[Tensor, Tensor]]
RATE, CLIP, STEPS = 0.1, 1.0, 10


@dataclass(frozen=True)
class Step:
    """What is seen in a step: each rank's loss, and all ranks' after the update; the gradient's
    norm before it is clipped.
    """

    losses: tuple[float, ...]
    later: float
    norm: float

    @property
    def loss(self) -> float:
        """Of the whole batch."""
        return sum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class Problem:
    """Models and equal shards of each rank, and the loss at which all are to stop."""

    models: list[nn.Module]
    shards: list[Batches]
    enough: float

    def ends(self) -> list[Tensor]:
        """Right weights at the end: from rank 0's at the beginning, another rank's, or their mean.

        To be asked before anybody trains the models.
        """
        mean = copy.deepcopy(self.models[0])
        nn.utils.vector_to_parameters(
            torch.stack([flat(model) for model in self.models]).mean(0), mean.parameters()
        )
        starts = [*copy.deepcopy(self.models), mean]
        for model in starts:
            train_alone(model, self.shards, self.enough)
        return [flat(model) for model in starts]


def train_alone(model: nn.Module, shards: list[Batches], enough: float) -> list[Step]:
    """What the loop means, in one process with the whole batches; its steps."""
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
        if steps[-1].loss < enough:
            break
    return steps


def draw_problem(n: int) -> Problem:
    """A problem of `n` ranks in which no slip goes unseen."""
    while True:
        models: list[nn.Module] = [nn.Linear(3, 1) for _ in range(n)]
        target = nn.Linear(3, 1)
        inputs = torch.randn(n, STEPS, 4, 3)
        with torch.no_grad():
            targets = target(inputs) + 0.3 * torch.randn(n, STEPS, 4, 1)
        shards = [list(zip(x, y, strict=True)) for x, y in zip(inputs, targets, strict=True)]
        steps = train_alone(copy.deepcopy(models[0]), shards, 0.0)
        enough = 1.05 * min(step.loss for step in steps)
        if _tells_slips(steps, enough):
            return Problem(models, shards, enough)


def _tells_slips(steps: Sequence[Step], enough: float) -> bool:
    """Whether some gradients are clipped and others not, and who looks at another loss stops apart.

    Other losses are one rank's, the smallest, the largest, and that after the update.
    """
    stop = _first((step.loss for step in steps), enough)
    norms = [step.norm for step in steps[: stop + 1]]
    if not (2 < stop < STEPS - 1 and norms[-1] > 0.05 and min(norms) < 0.8 and max(norms) > 1.25):
        return False
    own = [_first(losses, enough) for losses in zip(*(step.losses for step in steps), strict=True)]
    largest = _first((max(step.losses) for step in steps), enough)
    later = _first((step.later for step in steps), enough)
    return min(own) < stop < max(own) and stop not in (*own, largest, later)


def _first(losses: Iterable[float], enough: float) -> int:
    """The first step whose loss is below the bound; STEPS where none is."""
    return next((step for step, loss in enumerate(losses) if loss < enough), STEPS)


def flat(model: nn.Module) -> Tensor:
    """All weights of a model, one behind the other."""
    return torch.cat([p.detach().flatten() for p in model.parameters()])


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


def plan_sizes(gradients: list[Tensor], limit: int) -> list[int]:
    """Bytes of each bucket: last gradient first, one dtype, at most `limit` unless alone."""
    sizes: list[int] = []
    before = None
    for x in reversed(gradients):
        if x.dtype != before or sizes[-1] + x.nbytes > limit:
            sizes.append(0)
        sizes[-1] += x.nbytes
        before = x.dtype
    return sizes


@exercise(
    "data_parallelism.buckets",
    todo="write reduce_in_buckets(gradients, limit, net): last first, one dtype a bucket.",
    hints=(
        "Go through reversed(gradients). A new bucket begins where the type changes, and where "
        "the next gradient would make it larger than limit.",
        "torch.cat of FP32 and BF16 gives FP32, without a word: twice the bytes. "
        "After the all_reduce, copy each part back: gradient.copy_(part.view_as(gradient)).",
    ),
)
def check_buckets(reduce: Callable[[list[Tensor], int, PlayedLink], None]) -> str:
    """Shapes of two types; limits that buckets reach, miss and exceed: means, messages, sizes."""
    shapes = _shapes()
    for place, limit in enumerate(_limits(shapes)):
        n = 2 + place % 2
        given = [[n * torch.randint(-8, 9, s).to(d) for s, d in shapes] for _ in range(n)]
        want = [(sum(x.float() for x in xs) / n).to(xs[0].dtype) for xs in zip(*given, strict=True)]
        sizes = plan_sizes(given[0], limit)

        def work(link: PlayedLink, given: Any = given, limit: int = limit) -> None:
            reduce(given[link.rank], limit, link)

        links, case = _play(n, work), f"{n} ranks, buckets of {limit} bytes: "
        for rank, gradients in enumerate(given):
            _require_means(f"{case}rank {rank}, ", gradients, want)
        compare(links[0].sizes, sizes, f"{case}the bytes of each message, last gradient first")
    return "2 and 3 ranks, FP32 and BF16, seven limits: means, messages and bytes"


def _shapes() -> list[tuple[tuple[int, int], torch.dtype]]:
    """Random ones, first to last; the third has more elements than all the others together."""
    shapes = [(random.randint(1, 6), random.randint(1, 6)) for _ in range(8)]
    shapes.insert(2, (2, sum(rows * columns for rows, columns in shapes)))
    dtypes = [torch.float32] * 4 + [torch.bfloat16] * 3 + [torch.float32] * 2
    return list(zip(shapes, dtypes, strict=True))


def _limits(shapes: list[tuple[tuple[int, int], torch.dtype]]) -> list[int]:
    """In bytes: what two gradients fill, and one byte less; one run of a type; all; nothing."""
    a, b, _, _, p, q, r, y, z = (
        rows * columns * dtype.itemsize for (rows, columns), dtype in shapes
    )
    return [y + z, y + z - 1, q + r, a + b, max(y + z, p + q) + r, 100_000, 1]


def _require_means(case: str, gradients: list[Tensor], want: list[Tensor]) -> None:
    forms, wanted = ([f"{x.dtype} {list(x.shape)}" for x in xs] for xs in (gradients, want))
    compare(forms, wanted, f"{case}the gradients' types")
    compare(gradients, [x.tolist() for x in want], f"{case}the gradients", 0.0)


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
    """Replicas with their own weights, on 2 and 3 ranks: those of one process on each, at the end.

    The problems are drawn so that whoever clips, averages or stops otherwise ends elsewhere.
    """
    for n in (2, 3):
        problem = draw_problem(n)

        def work(link: PlayedLink, problem: Problem = problem) -> None:
            model, shard = problem.models[link.rank], problem.shards[link.rank]
            train(model, list(shard), link, problem.enough)

        wanted = problem.ends()
        _play(n, work)
        _require_replicas(f"{n} ranks: ", problem.models, wanted)
    return "2 and 3 ranks: the weights of one process with the whole batches, on each"


def _require_replicas(case: str, models: list[nn.Module], wanted: list[Tensor]) -> None:
    """`wanted` are the weights that are right, those that began with rank 0's first."""
    found = [flat(model) for model in models]
    for rank, x in enumerate(found):
        if not x.isfinite().all():
            raise Wrong(f"{case}at the end, rank {rank}'s weights are nan or infinite")
        if not apart(x, found[0]) <= 1e-5:
            far = f"{100 * apart(x, found[0]):.0f}% away from rank 0's"
            raise Wrong(f"{case}at the end, rank {rank}'s weights are {far}: the replicas differ")
    if not any(apart(found[0], right) <= 1e-4 for right in wanted):
        far = f"{100 * apart(found[0], wanted[0]):.1f}% away from those of one process"
        raise Wrong(f"{case}the replicas agree, and are {far} with the whole batches")


def _play(n: int, work: Callable[[PlayedLink], None]) -> list[PlayedLink]:
    """Ranks played by threads; their links. Raises: Wrong for a deadlock."""
    links: dict[int, PlayedLink] = {}

    def play(net: SimulatedNet) -> None:
        links[net.rank] = PlayedLink(net)
        work(links[net.rank])

    try:
        simulate(n, play)
    except Deadlock as stuck:
        raise Wrong(f"{n} ranks: {stuck}") from None
    return [links[rank] for rank in range(n)]
