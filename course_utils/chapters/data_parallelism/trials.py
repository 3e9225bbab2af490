"""What chapter 12 has ranks do by `ranks.run`: equality with one process, its models and images."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from course_utils.chapters.data_parallelism.links import apart
from course_utils.core import files
from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.resnet import stages

IMAGES = files.DATA / "FashionMNIST" / "raw" / "train-images-idx3-ubyte"
LABELS = files.DATA / "FashionMNIST" / "raw" / "train-labels-idx1-ubyte"


def ddp_against_one(device: str, steps: int = 50, batch: int = 12) -> dict[str, float]:
    """DDP on these ranks beside one process with the whole batch: relative errors.

    `gradient_error` is the first step's, `weights_error` that after all steps.
    """
    rank, n = dist.get_rank(), dist.get_world_size()
    one, model = (_gpt(GPTConfig.tiny(), device) for _ in range(2))
    replica = DistributedDataParallel(model)
    both = [torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (one, replica)]
    lines, first = Addition().train.to(device), 0.0
    for step in range(steps):
        whole = lines[batch * step : batch * (step + 1)]
        for net, optimizer, part in zip(
            (one, replica), both, (whole, whole.tensor_split(n)[rank]), strict=True
        ):
            optimizer.zero_grad()
            answer_loss(net, part).backward()
            optimizer.step()
        if step == 0:
            first = _apart(model, one, lambda p: p.grad)
    return {"gradient_error": first, "weights_error": _apart(model, one, lambda p: p.data)}


def _gpt(config: GPTConfig, device: str) -> GPT:
    torch.manual_seed(0)
    return GPT(config).to(device)


def _apart(a: nn.Module, b: nn.Module, what: Callable[[Any], Tensor]) -> float:
    x, y = (torch.cat([what(p).flatten() for p in m.parameters()]) for m in (a, b))
    return apart(x, y)


def resnet18_for_28() -> nn.Module:
    """d2l's ResNet-18 for images (batch, 1, 28, 28): a first layer that doesn't shrink them."""
    blocks = stages()
    first = [nn.Conv2d(1, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU()]
    last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    return nn.Sequential(*first, *blocks, *last)


def fashion(n: int, images: Path = IMAGES, labels: Path = LABELS) -> tuple[Tensor, Tensor]:
    """`n` images (n, 1, 28, 28) from 0 to 1 and their labels: Fashion-MNIST's where its files are.

    Else synthetic ones of the same shape: a bright square whose place is the label.
    """
    if images.exists() and labels.exists():
        found = torch.frombuffer(bytearray(images.read_bytes()), dtype=torch.uint8)
        count, height, width = struct.unpack(">3I", images.read_bytes()[4:16])
        pixels = found[16:].view(count, 1, height, width)[:n].float() / 255
        kinds = torch.frombuffer(bytearray(labels.read_bytes()), dtype=torch.uint8)[8:]
        return pixels, kinds[:n].long()
    generator = torch.Generator().manual_seed(0)
    kinds = torch.randint(10, (n,), generator=generator)
    pixels = 0.3 * torch.rand(n, 1, 28, 28, generator=generator)
    for image, kind in zip(pixels, kinds.tolist(), strict=True):
        row, column = divmod(kind, 5)
        image[0, 14 * row : 14 * row + 5, 5 * column : 5 * column + 5] += 0.7
    return pixels, kinds
