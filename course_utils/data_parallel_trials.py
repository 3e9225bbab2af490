"""What chapter 12 has ranks do by `ranks.run`: equality on any device, and steps of real size."""

import gc
import struct
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from course_utils import files
from course_utils.addition import Addition, answer_loss
from course_utils.collectives import slowest_seconds
from course_utils.data_parallel import apart
from course_utils.gpt import GPT, GPTConfig
from course_utils.guests import load_d2l
from course_utils.resnet import STAGES, Block
from course_utils.timing import synchronize

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
    blocks, before = [], 64
    for channels, stride in STAGES:
        blocks += [Block(before, channels, stride), Block(channels, channels, 1)]
        before = channels
    first = [nn.Conv2d(1, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU()]
    last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10)]
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


def resnet_step(model: nn.Module, batch: int, device: str) -> Callable[[], None]:
    """A training step of a ResNet on `batch` images, as a function."""
    images, labels = (x.to(device) for x in fashion(batch))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        synchronize()

    return step


def gpt_step(model: nn.Module, config: GPTConfig, batch: int, device: str) -> Callable[[], None]:
    """A training step of a GPT on `batch` random texts, under autocast to BF16."""
    tokens = torch.randint(config.vocabulary, (batch, config.context), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(torch.device(device).type, torch.bfloat16):
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        synchronize()

    return step


def split_by_d2l(batch: int, n: int) -> list[Tensor]:
    """The shards into which d2l cuts the numbers from 0 to `batch`, on one GPU.

    Where d2l isn't installed, torch's own (`nn.parallel.scatter`), which d2l calls.
    """
    whole, devices = torch.arange(batch, device="cuda"), ["cuda:0"] * n
    d2l = load_d2l()
    parts: list[Tensor] = (
        d2l.split_batch(whole, whole, devices)[0]
        if d2l
        else list(nn.parallel.scatter(whole, [torch.device(one) for one in devices]))
    )
    return parts


def time_resnet18(device: str, batch: int, times: int = 5) -> float:
    """Seconds of a DDP step of ResNet-18 with `batch` images a rank, on the slowest rank."""
    torch.manual_seed(0)
    model = DistributedDataParallel(resnet18_for_28().to(device))
    return slowest_seconds(resnet_step(model, batch, device), times)


def time_gpt(device: str, config: GPTConfig, batch: int, times: int = 5) -> float:
    """Seconds of a DDP step of a GPT with `batch` texts a rank, in BF16, on the slowest rank."""
    model = DistributedDataParallel(_gpt(config, device))
    return slowest_seconds(gpt_step(model, config, batch, device), times)


def time_data_parallel(gpus: int, batch: int, times: int = 5) -> dict[str, float]:
    """A step of nn.DataParallel with ResNet-18, `batch` images a GPU, in this one process.

    `seconds` and the peak bytes of GPU 0 and of the fullest other. Needs two GPUs or more.
    """
    from statistics import median

    from course_utils.timing import seconds

    _forget()
    for index in range(gpus):
        torch.cuda.reset_peak_memory_stats(index)
    model = nn.DataParallel(resnet18_for_28().cuda(), list(range(gpus)))
    step = resnet_step(model, batch * gpus, "cuda")
    took = [seconds(step) for _ in range(times + 2)][2:]
    peaks = [torch.cuda.max_memory_allocated(index) for index in range(gpus)]
    return {"seconds": median(took), "first_bytes": peaks[0], "other_bytes": max(peaks[1:])}


def _forget() -> None:
    """Frees what earlier models left: cycles of references, and what the allocator kept of them."""
    gc.collect()
    torch.cuda.empty_cache()


def time_ddp(batch: int, times: int = 5) -> dict[str, float]:
    """The same step by DDP, a GPU a rank: seconds of the slowest, this rank's peak bytes."""
    _forget()
    torch.cuda.reset_peak_memory_stats()
    return {
        "seconds": time_resnet18("cuda", batch, times),
        "peak_bytes": torch.cuda.max_memory_allocated(),
    }


def real_size(gpus: int) -> dict[str, list[dict[str, Any]]]:
    """What a machine with GPUs records of chapter 12, by experiment; without one, no rows.

    Ranks are started for it, a GPU each; two share it where there is one. `equality` has the
    errors of DDP wherever there is a GPU, `scaling` rows for 1, 2, 4 and 8 GPUs where there are
    several.
    """
    from course_utils import ranks

    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if not gpus:
        return rows
    ranks.start(2, device="cuda", limit_seconds=120)
    found = ranks.run(ddp_against_one, "cuda", 50)[0]
    rows["equality"] = [{"ranks": 2, "steps": 50, **found}]
    if gpus == 1:
        rows["ddp_equality_one_gpu"] = rows["equality"]
    ranks.start(gpus, device="cuda", limit_seconds=300)
    took = ranks.run(time_resnet18, "cuda", 256)[0]
    speed = {"images_per_s": gpus * 256 / took}
    rows["resnet18_step"] = [{"gpus": gpus, "batch": 256, "seconds": took, **speed}]
    if gpus > 1:
        ddp = ranks.run(time_ddp, 256)
        ranks.stop()  # its processes keep memory of every GPU
        rows["dp_vs_ddp"] = _dp_vs_ddp(gpus, ddp)
    tokens_per_s = {n: _gpt_small_tokens_per_s(n) for n in (1, 2, 4, 8) if n <= gpus}
    most = max(tokens_per_s)
    rows["gpt_small_step"] = [{"gpus": most, "batch": 8, **_step(most, tokens_per_s[most])}]
    if gpus > 1:
        rows["scaling"] = [
            {"ranks": n, "tokens_per_s": x, "efficiency": x / n / tokens_per_s[1]}
            for n, x in tokens_per_s.items()
        ]
    ranks.stop()  # who starts ranks after this chooses their device anew
    return rows


def _gpt_small_tokens_per_s(gpus: int) -> float:
    """Tokens a second of GPT `small`, 8 texts a GPU, on ranks that are started for it."""
    from course_utils import ranks

    ranks.start(gpus, device="cuda", limit_seconds=300)
    config = GPTConfig.small()
    return float(gpus * 8 * config.context / ranks.run(time_gpt, "cuda", config, 8)[0])


def _step(gpus: int, tokens_per_s: float) -> dict[str, float]:
    seconds = gpus * 8 * GPTConfig.small().context / tokens_per_s
    return {"seconds": seconds, "tokens_per_s": tokens_per_s}


def _dp_vs_ddp(gpus: int, ddp: list[dict[str, float]]) -> list[dict[str, Any]]:
    peaks = [row["peak_bytes"] for row in ddp]
    by_ranks = {
        "seconds": ddp[0]["seconds"], "first_bytes": peaks[0], "other_bytes": max(peaks[1:]),
    }  # fmt: skip
    return [
        {"way": "DataParallel", "gpus": gpus, **time_data_parallel(gpus, 256)},
        {"way": "DistributedDataParallel", "gpus": gpus, **by_ranks},
    ]
