"""Models and gradients on which chapter 12's ranks try data parallelism."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from course_utils.chapters.data_parallelism.links import CountedLink, SlowLink, apart
from course_utils.core.timing import synchronize
from course_utils.figures.timeline import Span
from course_utils.workloads.addition import ALPHABET, LINE, Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig

LINES = 32  # of a rank's batch
Buckets = list[list[nn.Parameter]]
FillBuckets = Callable[[nn.Module, int], Buckets]  # of up to so many bytes


def replica(device: torch.device | str) -> GPT:
    """A GPT of 52 tensors, 3.2 MB together, the same on every rank."""
    torch.manual_seed(0)
    return GPT(GPTConfig(len(ALPHABET), LINE, layers=4, heads=4, width=128)).to(device)


def backward(model: nn.Module, batch: int = 0) -> Tensor:
    """Adds the gradients of this rank's 32 lines of a batch to those there are; the loss."""
    first = (batch * dist.get_world_size() + dist.get_rank()) * LINES
    lines = _lines()[first : first + LINES].to(next(model.parameters()).device)
    loss = answer_loss(model, lines)
    loss.backward()
    return loss.detach()


_kept: list[Tensor] = []


def _lines() -> Tensor:
    if not _kept:
        _kept.append(Addition().train)
    return _kept[0]


def count(
    link: CountedLink, ways: Mapping[str, tuple[nn.Module, object]], step: Callable[[str], object]
) -> dict[str, tuple[int, int, Tensor]]:
    """Messages, bytes and the gradient of a step by each way."""
    found = {}
    for way, (model, _) in ways.items():
        link.reset()
        step(way)
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


def watched(link: SlowLink, steps: Sequence[Callable[[], object]], times: int = 9) -> list[Span]:
    """The spans of each step, whose messages go over `link`, one step after the other.

    Of several runs of a step it is the one whose time, on its slowest rank, is the median. The
    steps are 10 ms apart, and time begins at 0.
    """
    found, begin = [], 0.0
    for step in steps:
        step()  # to warm up
        runs = sorted(
            (_watched_once(link, step) for _ in range(times)), key=lambda run: run[2] - run[1]
        )
        spans, first, last = runs[times // 2]
        shift = begin - first
        found += [replace(s, start=s.start + shift, end=s.end + shift) for s in spans]
        begin += last - first + 0.01
    return found


def _watched_once(link: SlowLink, step: Callable[[], object]) -> tuple[list[Span], float, float]:
    """This rank's spans, and when the first rank began and the last one ended."""
    link.spans.clear()
    link.watch(step)
    spans = list(link.spans)
    ends = torch.tensor(
        [-min(s.start for s in spans), max(s.end for s in spans)], dtype=torch.float64
    )
    dist.all_reduce(ends, dist.ReduceOp.MAX)
    return spans, -ends[0].item(), ends[1].item()


def steps_by_size(
    device: torch.device | str,
    fill_buckets: FillBuckets,
    bucketed: Callable[[nn.Module, Buckets], object],
    overlapped: Callable[[nn.Module, Buckets], Any],
    kibs: Sequence[int] = (512, 1024, 2048, 4096),
) -> dict[tuple[str, int], Callable[[], None]]:
    """Steps by the way and the KiB of a bucket: sent after the backward pass, or by hooks.

    The three callables are the page's. Each step has a model of its own.
    """
    found: dict[tuple[str, int], Callable[[], None]] = {}
    for kib in kibs:
        late, early = replica(device), replica(device)
        hooks = overlapped(early, fill_buckets(early, kib * 1024))
        at_the_end = partial(bucketed, late, fill_buckets(late, kib * 1024))
        found["sent afterwards", kib] = partial(_step, late, at_the_end)
        found["sent by hooks", kib] = partial(_step, early, partial(_by_hooks, hooks))
    return found


def _step(model: nn.Module, make_gradients: Callable[[], object]) -> None:
    model.zero_grad()
    make_gradients()
    synchronize()


def _by_hooks(hooks: Any) -> None:
    backward(hooks.model)
    hooks.finish()


def step_without_last_layer(
    device: torch.device | str,
    fill_buckets: FillBuckets,
    overlapped: Callable[[nn.Module, Buckets], Any],
) -> None:
    """A step by the page's hooks whose loss leaves out a layer: the page's error is what it's for.

    Both callables are the page's.
    """
    net = small_net().to(device)
    hooks = overlapped(net, fill_buckets(net, 2**20))
    net[0](_inputs(device)).sum().backward()
    hooks.finish()


def ddp_messages(device: torch.device | str) -> list[tuple[int, int]]:
    """Messages and bytes of torch's DDP in a step of four batches, its first steps not counted.

    First where each batch sends, then with three of the four under `no_sync`.
    """
    return [_ddp_messages(device, accumulate) for accumulate in (False, True)]


def _ddp_messages(device: torch.device | str, accumulate: bool) -> tuple[int, int]:
    link, model = CountedLink(), DistributedDataParallel(replica(device), bucket_cap_mb=1)
    model.register_comm_hook(link, _through)
    for _ in range(2):  # DDP makes its buckets anew after the first step
        link.reset()
        model.zero_grad()
        for batch in range(4):
            with model.no_sync() if accumulate and batch < 3 else nullcontext():
                backward(model, batch)
    return link.messages, link.n_bytes


def _through(link: CountedLink, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    work: Any = link.all_reduce(bucket.buffer().div_(dist.get_world_size()))
    return work.get_future().then(lambda done: done.value()[0])


def gradient_error(model: nn.Module, x: Tensor, sizes: Sequence[int]) -> float:
    """The averaged gradient of shards of these sizes, a rank each, beside the whole batch's.

    Relative, of the mean square of the model's outputs. `x` holds the whole batch on every rank.
    """
    rank, n = dist.get_rank(), dist.get_world_size()
    whole, mine = (_gradient(model, part) for part in (x, x.split(list(sizes))[rank]))
    dist.all_reduce(mine)
    return apart(mine / n, whole)


def _gradient(model: nn.Module, x: Tensor) -> Tensor:
    model.zero_grad()
    model(x).square().mean().backward()
    return flat_gradients(model)


def wrong_gradients(device: torch.device | str) -> dict[str, float]:
    """Errors of averaged gradients on four ranks: as it should be, and in three other cases."""
    x = _inputs(device)
    nets = {
        "equal shards": small_net(),
        "BatchNorm": small_net(nn.BatchNorm1d(32)),
        "dropout": small_net(nn.Dropout()),
    }
    torch.manual_seed(dist.get_rank())  # a dropout mask of its own on every rank
    wrong = {way: gradient_error(net.to(device), x[:12], (3,) * 4) for way, net in nets.items()}
    return wrong | {"unequal shards": gradient_error(nets["equal shards"], x, (8, 8, 8, 1))}


def statistics_from_sums(device: torch.device | str) -> bool:
    """Whether summed sums and squares of shards give the whole batch's mean and variance."""
    x = _inputs(device)[:24].double()
    mine = x.tensor_split(dist.get_world_size())[dist.get_rank()]
    sums = torch.stack([mine.sum(0), mine.square().sum(0)])
    dist.all_reduce(sums)
    mean, squares = sums / len(x)
    variance = squares - mean**2
    same = torch.allclose(mean, x.mean(0)), torch.allclose(variance, x.var(0, unbiased=False))
    return all(same)


def _inputs(device: torch.device | str) -> Tensor:
    return torch.randn(25, 9, generator=torch.Generator().manual_seed(0)).to(device)


def small_net(*between: nn.Module) -> nn.Sequential:
    """Nine features to thirteen, with other layers between: the same weights on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(9, 32), *between, nn.Linear(32, 13))


def flat_gradients(model: nn.Module) -> Tensor:
    """The gradients, one behind the other; zeros before there are any."""
    return torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in model.parameters()]
    )
