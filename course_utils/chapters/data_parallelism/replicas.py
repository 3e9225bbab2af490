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

from course_utils.chapters.collectives.by_hand import slowest_seconds
from course_utils.chapters.data_parallelism.links import Link, SlowLink, apart
from course_utils.core.timing import synchronize
from course_utils.figures.timeline import Span
from course_utils.workloads.addition import ALPHABET, LINE, Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig

LINES = 32  # of a rank's batch


def replica(device: torch.device | str) -> GPT:
    """A GPT of 52 parameters and 3.2 MB, the same on every rank."""
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
    link: Link, ways: Mapping[str, tuple[nn.Module, object]], step: Callable[[str], object]
) -> dict[str, tuple[int, int, Tensor]]:
    """Messages, bytes and the gradient of a step by each way."""
    found = {}
    for way, (model, _) in ways.items():
        link.reset()
        step(way)
        found[way] = link.messages, link.n_bytes, flat_gradients(model)
    return found


def four_batches(link: Link, hooks: Any, accumulate: bool) -> tuple[int, int, Tensor]:
    """Messages, bytes and the gradient of a step of four batches, by a model with hooks.

    `hooks` is the page's `Overlapped`; with `accumulate` only the fourth batch sends.
    """
    link.reset()
    hooks.model.zero_grad()
    for batch in range(4):
        hooks.sync = not accumulate or batch == 3
        backward(hooks.model, batch)
        if hooks.sync:
            hooks.finish()
    return link.messages, link.n_bytes, flat_gradients(hooks.model)


def watched(
    link: SlowLink, ways: Sequence[str], names: dict[str, Any], times: int = 9
) -> list[Span]:
    """The spans of a step by each way on a slow link, which is the page's `link` from then on.

    Of several steps the one whose time, on its slowest rank, is the median; the ways follow each
    other, 10 ms apart, and time begins at 0. `names` has what the page defined: `step`, and the
    `link` on which its functions send.
    """
    names["link"] = link
    found, begin = [], 0.0
    for way in ways:
        names["step"](way)  # to warm up
        steps = [_watched_once(link, partial(names["step"], way)) for _ in range(times)]
        steps.sort(key=lambda step: step[2] - step[1])
        spans, first, last = steps[times // 2]
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


def sweep(
    names: dict[str, Any], kibs: Sequence[int] = (512, 1024, 2048, 4096)
) -> dict[tuple[str, int], float]:
    """Seconds of a step by bucket size, sent after the backward pass or by hooks.

    `names` has what the page defined: `plan`, `bucketed`, `Overlapped` and the `device`. The
    models are kept there as well, so that only the first call makes them.
    """
    if "swept" not in names:
        names["swept"] = {
            (way, kib): step for kib in kibs for way, step in _steps_of_size(names, kib).items()
        }
    return {key: slowest_seconds(step, 1, warm_up=0) for key, step in names["swept"].items()}


def _steps_of_size(names: Mapping[str, Any], kib: int) -> dict[str, Callable[[], None]]:
    late, early = replica(names["device"]), replica(names["device"])
    buckets = names["plan"](late, kib * 1024)
    hooks = names["Overlapped"](early, names["plan"](early, kib * 1024))

    def afterwards() -> None:
        late.zero_grad()
        names["bucketed"](late, buckets)
        synchronize()

    def by_hooks() -> None:
        early.zero_grad()
        backward(early)
        hooks.finish()
        synchronize()

    return {"sent afterwards": afterwards, "sent by hooks": by_hooks}


def step_without_last_layer(names: Mapping[str, Any]) -> None:
    """A step by the page's hooks whose loss leaves out a layer: the page's error is what it's for.

    `names` has what the page defined: `plan`, `Overlapped` and the `device`.
    """
    net = small_net().to(names["device"])
    hooks = names["Overlapped"](net, names["plan"](net, 2**20))
    net[0](_inputs(names["device"])).sum().backward()
    hooks.finish()


def ddp_messages(device: torch.device | str, accumulate: bool) -> tuple[int, int]:
    """Messages and bytes of torch's DDP in a step of four batches, its first steps not counted.

    With `accumulate`, three of the four are under `no_sync`.
    """
    link, model = Link(), DistributedDataParallel(replica(device), bucket_cap_mb=1)
    model.register_comm_hook(link, _through)
    for _ in range(2):  # DDP makes its buckets anew after the first step
        link.reset()
        model.zero_grad()
        for batch in range(4):
            with model.no_sync() if accumulate and batch < 3 else nullcontext():
                backward(model, batch)
    return link.messages, link.n_bytes


def _through(link: Link, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
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
