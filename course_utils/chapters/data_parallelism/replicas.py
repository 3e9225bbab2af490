"""Models and gradients on which chapter 12's ranks try data parallelism."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.chapters.collectives.by_hand import slowest_seconds
from course_utils.chapters.data_parallelism.links import ClockLink, CountedLink
from course_utils.core.timing import synchronize
from course_utils.workloads.addition import ALPHABET, LINE, Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig

EARLY = "hooks"  # the page's name for buckets that are sent by them
LINES = 32  # of a rank's batch


def replica(device: torch.device | str, layers: int = 4, width: int = 128) -> GPT:
    """A GPT, the same on every rank: of 52 tensors, 3.2 MB together, unless said."""
    torch.manual_seed(0)
    return GPT(GPTConfig(len(ALPHABET), LINE, layers, heads=4, width=width)).to(device)


def backward(model: nn.Module, batch: int = 0) -> Tensor:
    """Adds the gradients of this rank's lines of a batch to those there are; the loss."""
    first = (batch * dist.get_world_size() + dist.get_rank()) * LINES
    mine = _train()[first : first + LINES].to(next(model.parameters()).device)
    loss = answer_loss(model, mine)
    loss.backward()
    return loss.detach()


@cache
def _train() -> Tensor:
    return Addition().train


Ways = Mapping[str, tuple[nn.Module, Callable[[nn.Module], object]]]  # what makes gradients


def step(model: nn.Module, gradients: Callable[[nn.Module], object]) -> None:
    """A step of one of the page's ways, to the end of what a GPU has to do for it."""
    model.zero_grad()
    gradients(model)
    synchronize()


def race(models: Mapping[str, Ways]) -> dict[str, float]:
    """Seconds of a step on the slowest rank, by "name, way"."""
    return {
        f"{name}, {way}": slowest_seconds(partial(step, *how), 1, warm_up=0)
        for name, ways in models.items()
        for way, how in ways.items()
    }


def sweep(link: ClockLink, by_size: Mapping[int, Ways], single: Ways) -> dict[Any, float] | None:
    """Seconds of steps over a link, on rank 0; the others wait, and get None.

    By way and KiB of a bucket; by "one by one"; and by "ready" and a place when, in a step with a
    bucket for each gradient, that bucket is handed over.
    """
    if dist.get_rank() == 0:
        alpha, beta, link.alpha, link.beta = link.alpha, link.beta, 0.0, 0.0
        link.clock(partial(step, *single[EARLY]))
        found: dict[Any, float] = {("ready", place): at for place, at in enumerate(link.given)}
        link.alpha, link.beta = alpha, beta
        found["one by one"] = link.clock(partial(step, *single["one by one"]))
        for kib, ways in by_size.items():
            for way in ("buckets", EARLY):
                found[way, kib] = link.clock(partial(step, *ways[way]))
    dist.barrier()
    return found if dist.get_rank() == 0 else None


def bucket_sizes(buckets: Sequence[Sequence[nn.Parameter]]) -> list[tuple[int, int]]:
    """How many gradients each bucket has, and their bytes."""
    return [(len(bucket), sum(p.nbytes for p in bucket)) for bucket in buckets]


def count(link: CountedLink, ways: Ways) -> dict[str, tuple[int, int, Tensor]]:
    """Messages, bytes and the gradient of a step by each way: a model, and what makes gradients."""
    found = {}
    for way, (model, gradients) in ways.items():
        link.reset()
        model.zero_grad()
        gradients(model)
        found[way] = link.messages, link.n_bytes, flat_gradients(model)
    return found


def four_batches(link: CountedLink, hooks: Any) -> list[tuple[int, int, Tensor]]:
    """Messages, bytes and the gradient of a step of four batches, by a model with hooks.

    First where each batch sends, then where only the fourth does. `hooks` is the page's
    `Overlapped`.
    """
    found = []
    for accumulate in (False, True):
        link.reset()
        hooks.model.zero_grad()
        for batch in range(4):
            hooks.sync = not accumulate or batch == 3
            backward(hooks.model, batch)
            if hooks.sync:
                hooks.finish()
        found.append((link.messages, link.n_bytes, flat_gradients(hooks.model)))
    return found


def inputs(device: torch.device | str) -> Tensor:
    """25 samples of nine features, the same on every rank."""
    return torch.randn(25, 9, generator=torch.Generator().manual_seed(0)).to(device)


def small_net(*between: nn.Module) -> nn.Sequential:
    """Nine features to thirteen, with other layers between: the same weights on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(9, 32), *between, nn.Linear(32, 13))


class _Sum(torch.autograd.Function):
    """The sum over all ranks: as every rank's loss depends on it, so is its gradient's."""

    @staticmethod
    def forward(_ctx: Any, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _Sum.forward(ctx, gradient)


class SyncNorm(nn.BatchNorm1d):
    """BatchNorm whose mean and variance are those of all ranks' samples: two sums in a step."""

    def forward(self, x: Tensor) -> Tensor:
        count = torch.full_like(x[0], len(x))
        total: Any = _Sum.apply(torch.stack([x.sum(0), x.square().sum(0), count]))
        mean, squares = total[:2] / total[2]
        return (x - mean) / (squares - mean**2 + self.eps).sqrt() * self.weight + self.bias


def flat_weights(model: nn.Module) -> Tensor:
    """The weights, one behind the other."""
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def flat_gradients(model: nn.Module) -> Tensor:
    """The gradients, one behind the other; zeros before there are any."""
    return torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in model.parameters()]
    )


def batches_counted(device: torch.device | str) -> int:
    """What a BatchNorm under DDP has counted after one batch, begun at 100 on every rank but 0.

    DDP gives its ranks the buffers of rank 0 at every forward pass.
    """
    norm = nn.BatchNorm1d(9).to(device)
    ddp = DistributedDataParallel(norm)
    norm.get_buffer("num_batches_tracked").fill_(100 * dist.get_rank())
    ddp(inputs(device))
    return int(norm.get_buffer("num_batches_tracked"))


class _Half(nn.Sequential):
    """A model that leaves out its last layer."""

    def forward(self, x: Tensor) -> Tensor:
        used: Tensor = self[0](x)
        return used.sum()


def sums_of_half(device: torch.device | str, **options: Any) -> list[int]:
    """All_reduces in each of three steps of DDP whose loss leaves out a layer.

    Raises: RuntimeError, DDP's, in the second step without an option for such models.
    """
    ddp, x = DistributedDataParallel(_Half(*small_net()).to(device), **options), inputs(device)
    return [sums_in(lambda: ddp(x).backward()) for _ in range(3)]


def sums_in(work: Callable[[], object]) -> int:
    """How many all_reduces torch begins on this rank during `work()`: DDP's own are among them."""
    with _Calls() as calls:
        work()
    return calls.sums


class _Calls(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.sums = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # every call of an operator, made in Python or in C++
        self.sums += str(func).startswith("c10d.allreduce_")
        return func(*args, **(kwargs or {}))
