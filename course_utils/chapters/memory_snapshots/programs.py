"""Small training programs whose memory is worth looking at: healthy ones, and sick ones.

Each is a function of a device that does the same on a GPU, on a fake one, and on the CPU, so that
chapter 9's snapshots can be recorded from a real allocator or made without one. Each returns what
should still be alive when the snapshot is taken. The models and batches name their device and the
optimisers don't meet a default one: torch before 2.13 would count Adam's steps on it.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.workloads.gpt import GPT, GPTConfig

CONFIG = GPTConfig(vocabulary=512, context=128, layers=2, heads=4, width=256)
Watch = Callable[[nn.Module, torch.optim.Optimizer], Any]


def training(
    device: torch.device,
    watch: Watch | None = None,
    steps: int = 2,
    validate: bool = False,
    batch: int = 16,
) -> Any:
    """Steps of Adam on random tokens.

    Recorded snapshots name this file's lines down to `growing_cache`: don't move them.
    `validate` makes a mistake: a validation loss after each step, without `no_grad`, kept for a
    plot together with the graph behind it. `watch(model, optimizer)` is told who they are.
    """
    with device:
        model = GPT(CONFIG)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if watch:
        watch(model, optimizer)
    curve: list[Tensor] = []
    for _ in range(steps):
        tokens, targets = torch.randint(
            CONFIG.vocabulary, (2, batch, CONFIG.context), device=device
        )
        optimizer.zero_grad()
        # the loss is one call, so that the logits don't outlive it
        loss = _loss(model, tokens, targets)
        loss.backward()
        optimizer.step()
        del loss
        if validate:
            curve.append(_loss(model, tokens[:4], targets[:4]))
    return model, optimizer, curve


def _loss(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def growing_cache(device: torch.device, watch: Watch | None = None, tokens: int = 30) -> Any:
    """A key-value cache grown by `cat`: each is a little larger than any hole the last ones left.

    Between them come tensors that stay, so that the holes can't merge.
    """
    with device, torch.no_grad():
        stay, caches = [], [torch.zeros(8, 64, 1024) for _ in range(4)]
        for _ in range(tokens):
            for layer, cache in enumerate(caches):
                caches[layer] = torch.cat([cache, torch.zeros(8, 8, 1024)], dim=1)
                stay.append(torch.zeros(300_000))
            del cache
        return stay, caches


def step_fp32(device: torch.device, watch: Watch | None = None) -> Any:
    """Two healthy steps in FP32."""
    return training(device, watch)


def leak(device: torch.device, watch: Watch | None = None) -> Any:
    """Five steps, each with a validation loss that keeps its graph."""
    return training(device, watch, steps=5, validate=True)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "snapshot_step_fp32": step_fp32,
    "snapshot_leak": leak,
    "snapshot_fragmented": growing_cache,
}
