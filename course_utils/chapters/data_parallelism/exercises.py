"""Checkers for chapter 12, "Data parallelism"."""

import copy
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.chapters.collectives.simulated_ranks import Deadlock, SimulatedNet, simulate
from course_utils.chapters.data_parallelism import offers
from course_utils.chapters.data_parallelism.links import PlayedLink, apart
from course_utils.lesson.exercises import Wrong, exercise

Batches = list[tuple[Tensor, Tensor]]
RATE, CLIP, STEPS = 0.1, 1.0, 10
PLANS = 200


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

        _play(n, work)
        for rank, gradients in enumerate(given):
            for got, wanted in zip(gradients, want, strict=True):
                if not torch.allclose(got, wanted, atol=1e-5):
                    error = f"wrong by {100 * apart(got, wanted):.0f}%"
                    raise Wrong(f"shards of {counts}: rank {rank} has {got.tolist()}, {error}")
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
    """Random shapes of two types and limits: the mean on each rank, and the messages' sizes."""
    for n, limit in ((2, 64), (3, 200), (2, 10_000), (3, 1)):
        dtypes = [torch.float32] * 4 + [torch.bfloat16] * 3 + [torch.float32] * 2
        shapes = [(random.randint(1, 6), random.randint(1, 6)) for _ in dtypes]
        given = [
            [n * torch.randint(-8, 9, s).to(d) for s, d in zip(shapes, dtypes, strict=True)]
            for _ in range(n)
        ]
        want = [(sum(x.float() for x in xs) / n).to(xs[0].dtype) for xs in zip(*given, strict=True)]
        sizes = plan_sizes(given[0], limit)

        def work(link: PlayedLink, given: Any = given, limit: int = limit) -> None:
            reduce(given[link.rank], limit, link)

        links, case = _play(n, work), f"{n} ranks, buckets of {limit} bytes: "
        for rank, gradients in enumerate(given):
            _require_means(f"{case}rank {rank}, ", gradients, want)
        _require_sizes(case, links[0].sizes, sizes)
    return "2 and 3 ranks, FP32 and BF16, four limits: means, messages and bytes"


def _require_means(case: str, gradients: list[Tensor], want: list[Tensor]) -> None:
    for place, (got, wanted) in enumerate(zip(gradients, want, strict=True)):
        if got.shape != wanted.shape or got.dtype != wanted.dtype:
            shown = f"{got.dtype} {list(got.shape)}, want {wanted.dtype} {list(wanted.shape)}"
            raise Wrong(f"{case}gradient {place} is {shown}")
        if not torch.equal(got, wanted):
            raise Wrong(f"{case}gradient {place} is {got.tolist()}, want {wanted.tolist()}")


def _require_sizes(case: str, got: list[int], want: list[int]) -> None:
    if len(got) != len(want):
        raise Wrong(f"{case}{len(got)} messages of {got} bytes, want {len(want)} of {want}")
    if sum(got) != sum(want):
        raise Wrong(f"{case}{sum(got)} bytes in all, want {sum(want)}: {got} against {want}")
    if got != want:
        raise Wrong(f"{case}messages of {got} bytes, want {want}, the last gradient first")


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

    The problems are drawn so that a rank's own loss falls below the bound in another step than
    the mean over the ranks does.
    """
    for n in (2, 3):
        models, shards, enough = _problem(n)
        want = copy.deepcopy(models[0])
        train_alone(want, _whole(shards), enough)

        def work(link: PlayedLink, m: Any = models, s: Any = shards, e: float = enough) -> None:
            train(m[link.rank], s[link.rank], link, e)

        _play(n, work)
        _require_replicas(f"{n} ranks: ", models, want)
    return "2 and 3 ranks: the weights of one process with the whole batches, on each"


def _require_replicas(case: str, models: list[nn.Module], want: nn.Module) -> None:
    flat = [_flat(model) for model in (want, *models)]
    for rank, x in enumerate(flat[2:], 1):
        if apart(x, flat[1]) > 1e-5:
            far = f"{100 * apart(x, flat[1]):.0f}% away from rank 0's"
            raise Wrong(f"{case}at the end, rank {rank}'s weights are {far}: the replicas differ")
    if apart(flat[1], flat[0]) > 1e-4:
        far = f"{100 * apart(flat[1], flat[0]):.1f}% away from those of one process"
        raise Wrong(f"{case}the replicas agree, and are {far} with the whole batches")


def train_alone(model: nn.Module, batches: Batches, enough: float) -> list[float]:
    """What the loop means, in one process; the losses until they are `enough`."""
    losses: list[float] = []
    for inputs, targets in batches:
        model.zero_grad()
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(RATE * torch.as_tensor(p.grad))
        losses.append(loss.item())
        if losses[-1] < enough:
            break
    return losses


def _problem(n: int) -> tuple[list[nn.Module], list[Batches], float]:
    """Models and batches of each rank, and a bound at which the ranks would stop apart."""
    while True:
        models: list[nn.Module] = [nn.Linear(3, 1) for _ in range(n)]
        truth = 2 * torch.randn(3, 1)
        inputs = torch.randn(n, STEPS, 4, 3)
        targets = inputs @ truth + 0.3 * torch.randn(n, STEPS, 4, 1)
        shards = [list(zip(x, y, strict=True)) for x, y in zip(inputs, targets, strict=True)]
        losses = train_alone(copy.deepcopy(models[0]), _whole(shards), 0.0)
        lowest = min(range(STEPS), key=lambda step: losses[step])
        enough = 1.05 * losses[lowest]
        stop = next(step for step, loss in enumerate(losses) if loss < enough)
        if 2 < stop < STEPS - 1 and _stops_apart(models[0], shards, enough, stop):
            return models, shards, enough


def _stops_apart(model: nn.Module, shards: list[Batches], enough: float, stop: int) -> bool:
    """Whether a rank that looks at its own loss alone would stop before `stop`, and another not."""
    early = []
    for shard in shards:
        one, below = copy.deepcopy(model), False
        for step in range(stop):
            below = below or F.mse_loss(one(shard[step][0]), shard[step][1]).item() < enough
            train_alone(one, [_whole(shards)[step]], 0.0)
        early.append(below)
    return any(early) and not all(early)


def _whole(shards: list[Batches]) -> Batches:
    return [
        (torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts]))
        for parts in zip(*shards, strict=True)
    ]


def _flat(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


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


@exercise(
    "scaling.plan",
    todo="write plan(offer): (local_batch, learning_rate, efficiency) for its 8 GPUs.",
    hints=(
        "The batch: whole samples beside the state in memory, and n times as many may not be "
        "more than largest_batch. Both bounds hold: take the smaller.",
        "The rate grows as the global batch, n·local, over base_batch.",
        "C = local·sample_flops/flops_per_s. A ring costs 2(n−1)·(alpha + beta·bytes/n) for "
        "each bucket of gradient_bytes/buckets. The step takes C and what is exposed.",
    ),
)
def check_plan(plan: Callable[[offers.Offer], Any]) -> str:
    """Random offers, until each kind of bound has come ten times."""
    seen, done = Counter[str](), 0
    while done < PLANS or min(seen.values()) < 10 or len(seen) < 4:
        offer = offers.draw_offer()
        _judge_plan(offer, plan(offer))
        seen.update(offers.kinds_of(offer))
        done += 1
    return "random clusters of 8 GPUs: batch, learning rate, and efficiency within 5%"


def _judge_plan(offer: offers.Offer, answer: Any) -> None:
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise Wrong(f"plan returns {answer!r:.60}, want (local_batch, learning_rate, efficiency)")
    local, rate, found = answer
    right_local, right_rate, right = offers.right_plan(offer)
    if local != right_local:
        raise Wrong(f"{offer}: a local batch of {local}, want {right_local}")
    if abs(rate / right_rate - 1) > 1e-6:
        raise Wrong(f"{offer}: a learning rate of {rate:.4g}, want {right_rate:.4g}")
    if abs(found / right - 1) > 0.05:
        raise Wrong(f"{offer}: an efficiency of {found:.3f}, want {right:.3f} within 5%")
