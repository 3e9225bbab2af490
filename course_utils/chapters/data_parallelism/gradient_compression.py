"""Gradients sent in fewer bytes: BF16, and the largest 1% with error feedback.

Sources: Lin et al. 2018, "Deep Gradient Compression" (top-k); Karimireddy et al. 2019 (feedback).
"""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course_utils.chapters.data_parallelism.links import CountedLink
from course_utils.chapters.data_parallelism.replicas import backward, flat_gradients
from course_utils.workloads.gpt import GPT, GPTConfig

SHARE = 100  # top-k sends one number in a hundred


def exact(link: CountedLink, x: Tensor, _rest: Tensor) -> Tensor:
    """The sum over the ranks, in FP32."""
    link.all_reduce(x).wait()
    return x


def in_bf16(link: CountedLink, x: Tensor, _rest: Tensor) -> Tensor:
    """The sum, added up in BF16: half of the bytes."""
    half = x.bfloat16()
    link.all_reduce(half).wait()
    return half.float()


def top_k(link: CountedLink, x: Tensor, rest: Tensor) -> Tensor:
    """The sum of each rank's largest 1%, by size, of `x` and what it has not sent before.

    `rest` holds what a rank has not sent: it is added to `x`, and then what is left is kept there.
    """
    x = x + rest
    places = x.abs().topk(len(x) // SHARE).indices
    values, everyones = link.all_gather(x[places]), link.all_gather(places.int())
    rest.copy_(x).index_fill_(0, places, 0)
    return torch.zeros_like(x).index_add_(0, everyones.long(), values)


def top_k_forgetful(link: CountedLink, x: Tensor, rest: Tensor) -> Tensor:
    """As `top_k`, but what isn't sent is lost."""
    return top_k(link, x, rest.zero_())


EXCHANGES = {
    "FP32": exact,
    "BF16": in_bf16,
    "top 1%, with feedback": top_k,
    "top 1%, without": top_k_forgetful,
}


def losses_by_exchange(device: torch.device | str) -> dict[str, tuple[list[float], int]]:
    """Losses of 40 steps and the bytes that a rank hands over in one, by exchange."""
    link = CountedLink()
    return {
        name: _losses(lambda x, rest, e=exchange: e(link, x, rest), link, device)  # type: ignore[misc]
        for name, exchange in EXCHANGES.items()
    }


def _losses(
    exchange: Callable[[Tensor, Tensor], Tensor], link: CountedLink, device: torch.device | str
) -> tuple[list[float], int]:
    """Losses of 40 steps whose gradients are added up by `exchange`, and a step's bytes sent.

    `exchange(x, rest)` gets this rank's part of the mean gradient, flat, and a vector of that size
    that is kept from step to step, zeros at first; it returns the sum over the ranks.
    """
    torch.manual_seed(0)
    model, n = GPT(GPTConfig.tiny()).to(device), dist.get_world_size()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    rest, found = torch.zeros_like(flat_gradients(model)), []
    for step in range(40):
        link.reset()
        optimizer.zero_grad()
        loss = backward(model, step)
        _keep(exchange(flat_gradients(model) / n, rest), model)
        optimizer.step()
        dist.all_reduce(loss)
        found.append(loss.item() / n)
    return found, link.n_bytes


def _keep(x: Tensor, model: nn.Module) -> None:
    """Writes a flat vector back to the gradients."""
    parameters = list(model.parameters())
    for p, part in zip(parameters, x.split([p.numel() for p in parameters]), strict=True):
        p.grad = part.view_as(p)
