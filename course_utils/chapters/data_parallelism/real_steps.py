"""Chapter 12's steps of real size, on GPUs, and DDP beside one process: `record_each` calls them.

A row is a function of a case, so that one which runs out of memory costs that row only. Ranks are
started for it; where each has a GPU they go over NCCL. Steps are timed in loops between events.
"""

import gc
import struct
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import notebook_ranks as ranks
from course_utils.chapters.collectives.by_hand import backend_of, gpu_seconds
from course_utils.chapters.data_parallelism.links import apart
from course_utils.core import files
from course_utils.core.timing import synchronize
from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.recipes import refuse_nan
from course_utils.workloads.resnet import stages

IMAGES = files.DATA / "FashionMNIST" / "raw" / "train-images-idx3-ubyte"
LABELS = files.DATA / "FashionMNIST" / "raw" / "train-labels-idx1-ubyte"
OVERLAPS = {"buckets of 25 MiB": 25, "one bucket": 10_000, "nothing sent": 25}  # way: its MiB
HALVES = {torch.bfloat16: "BF16", torch.float16: "FP16"}
Row = dict[str, Any]


def ddp_against_one(device: str, steps: int = 50) -> dict[str, float]:
    """DDP on these ranks beside one process with the whole batch: relative errors.

    `gradient_error` is the first step's, `weights_error` that after all steps.
    """
    rank, n = dist.get_rank(), dist.get_world_size()
    one, model = (_gpt(GPTConfig.tiny()).to(device) for _ in range(2))
    replica = DistributedDataParallel(model)
    both = [torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (one, replica)]
    lines, first = Addition().train.to(device), 0.0
    for step in range(steps):
        whole = lines[12 * step : 12 * (step + 1)]
        for net, optimizer, part in zip(
            (one, replica), both, (whole, whole.tensor_split(n)[rank]), strict=True
        ):
            optimizer.zero_grad()
            answer_loss(net, part).backward()
            optimizer.step()
        if step == 0:
            first = _apart(model, one, lambda p: p.grad)
    return {"gradient_error": first, "weights_error": _apart(model, one, lambda p: p.data)}


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

    Else random ones of the same shape.
    """
    if images.exists() and labels.exists():
        found = torch.frombuffer(bytearray(images.read_bytes()), dtype=torch.uint8)
        count, height, width = struct.unpack(">3I", images.read_bytes()[4:16])
        pixels = found[16:].view(count, 1, height, width)[:n].float() / 255
        kinds = torch.frombuffer(bytearray(labels.read_bytes()), dtype=torch.uint8)[8:]
        return pixels, kinds[:n].long()
    return torch.rand(n, 1, 28, 28), torch.randint(10, (n,))


def resnet_step(model: nn.Module, batch: int, device: str) -> Callable[[], Tensor]:
    """A training step of a ResNet on `batch` images, as a function that doesn't wait for its end.

    It gives the loss. In FP32; from Ampere on, cuDNN's convolutions take TF32 for it, as torch
    allows them to.
    """
    images, labels = (x.to(device) for x in fashion(batch))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def half_format() -> torch.dtype:
    """BF16 where this GPU has tensor cores for it (from Ampere on), FP16 on older ones."""
    return torch.bfloat16 if torch.cuda.get_device_capability() >= (8, 0) else torch.float16


def gpt_step(
    model: nn.Module, config: GPTConfig, batch: int, device: str, dtype: torch.dtype
) -> Callable[[], Tensor]:
    """A training step of a GPT on `batch` random texts under autocast, that isn't waited for.

    It gives the loss. In FP16 losses are scaled, which makes the host wait once a step.
    """
    tokens = torch.randint(config.vocabulary, (batch, config.context), device=device)
    optimizer, kind = torch.optim.AdamW(model.parameters(), 1e-4), torch.device(device).type
    scaler = torch.amp.GradScaler(kind, enabled=dtype is torch.float16)

    def step() -> Tensor:
        optimizer.zero_grad()
        with torch.autocast(kind, dtype):
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


def time_resnet18(batch: int) -> dict[str, float]:
    """A DDP step of ResNet-18 with `batch` images a GPU: seconds of the slowest, own peak bytes."""
    _forget()
    torch.manual_seed(0)
    model = DistributedDataParallel(resnet18_for_28().cuda())
    return timed(resnet_step(model, batch, "cuda"))


def time_gpt(config: GPTConfig, batch: int) -> dict[str, float]:
    """A DDP step of a GPT with `batch` texts a GPU: seconds of the slowest, own peak bytes."""
    _forget()
    model = DistributedDataParallel(_gpt(config).cuda())
    return timed(gpt_step(model, config, batch, "cuda", half_format()))


def time_overlap(way: str, config: GPTConfig, batch: int) -> dict[str, float]:
    """A DDP step by one of OVERLAPS: "one bucket" is sent when the backward pass has ended.

    (DDP begins with a small bucket of its own, 1 MiB.) "nothing sent" is the step under `no_sync`.
    """
    _forget()
    model = DistributedDataParallel(_gpt(config).cuda(), bucket_cap_mb=OVERLAPS[way])
    step = gpt_step(model, config, batch, "cuda", half_format())

    def alone() -> Tensor:
        with model.no_sync() if way == "nothing sent" else nullcontext():
            return step()

    return timed(alone)


def timed(step: Callable[[], Tensor]) -> dict[str, float]:
    """Seconds of a step on the slowest rank's GPU, and the peak bytes of this rank's."""
    torch.cuda.reset_peak_memory_stats()
    seconds = gpu_seconds(step, 10, warm_up=3, queued=False)
    refuse_nan(step())
    return {"seconds": seconds, "peak_bytes": torch.cuda.max_memory_allocated()}


def time_data_parallel(gpus: int, batch: int, times: int = 10) -> dict[str, float]:
    """A step of nn.DataParallel with ResNet-18, `batch` images a GPU, in this one process.

    `seconds` and the peak bytes of GPU 0 and of the fullest other. Needs two GPUs or more.
    """
    _forget()
    for index in range(gpus):
        torch.cuda.reset_peak_memory_stats(index)
    model = nn.DataParallel(resnet18_for_28().cuda(), list(range(gpus)))
    step = resnet_step(model, batch * gpus, "cuda")
    began = 0.0
    for done in range(times + 3):
        if done == 3:  # the first three warm up
            synchronize()
            began = time.perf_counter()
        step()
    synchronize()
    seconds = (time.perf_counter() - began) / times
    peaks = [torch.cuda.max_memory_allocated(index) for index in range(gpus)]
    return {"seconds": seconds, "first_bytes": peaks[0], "other_bytes": max(peaks[1:])}


def _forget() -> None:
    """Frees what earlier models left: cycles of references, and what the allocator kept of them."""
    gc.collect()
    torch.cuda.empty_cache()


def on_gpus(n: int) -> None:
    """`n` ranks with a GPU each where there are enough; else they share them, over gloo."""
    ranks.start(n, device="cuda", limit_seconds=300)


def equality_row(case: Row) -> Row:
    """DDP on `ranks` GPUs (or ranks that share one) after `steps` steps: `ddp_against_one`'s."""
    on_gpus(case["ranks"])
    errors = ranks.run(ddp_against_one, "cuda", case["steps"])
    worst = {name: max(found[name] for found in errors) for name in errors[0]}
    return {"backend": ranks.run(backend_of, "cuda")[0], **worst}


def resnet18_row(case: Row) -> Row:
    """ResNet-18's DDP step on `gpus` GPUs with `batch` images each."""
    on_gpus(case["gpus"])
    found = ranks.run(time_resnet18, case["batch"])[0]
    return {**found, "images_per_s": case["gpus"] * case["batch"] / found["seconds"]}


def gpt_small_row(case: Row) -> Row:
    """GPT small's DDP step on `gpus` GPUs with `batch` texts each, and the format it ran in."""
    on_gpus(case["gpus"])
    config = GPTConfig.small()
    found = ranks.run(time_gpt, config, case["batch"])[0]
    tokens = case["gpus"] * case["batch"] * config.context
    return {"format": HALVES[half_format()], **found, "tokens_per_s": tokens / found["seconds"]}


def overlap_row(case: Row) -> Row:
    """GPT small's step on `gpus` GPUs with `batch` texts each, by a `way` of OVERLAPS."""
    on_gpus(case["gpus"])
    found = ranks.run(time_overlap, case["way"], GPTConfig.small(), case["batch"])[0]
    return {"seconds": found["seconds"]}


def dp_vs_ddp_row(case: Row) -> Row:
    """ResNet-18 with 256 images a GPU by a `way`, "DataParallel" or "DDP", on `gpus` GPUs."""
    if case["way"] == "DataParallel":
        ranks.stop()  # its processes keep memory of every GPU
        alone = time_data_parallel(case["gpus"], 256)
        _forget()
        return alone
    on_gpus(case["gpus"])
    found = ranks.run(time_resnet18, 256)
    first, *others = (row["peak_bytes"] for row in found)
    return {"seconds": found[0]["seconds"], "first_bytes": first, "other_bytes": max(others)}


def _gpt(config: GPTConfig) -> GPT:
    torch.manual_seed(0)
    return GPT(config)
