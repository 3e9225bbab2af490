"""Chapter 12's steps of real size, on GPUs: what `record_each` calls for a row.

A row is a function of a case, so that one which runs out of memory costs that row only. Ranks are
started for it; where each has a GPU they go over NCCL. Steps are timed in loops between events.
"""

import gc
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import notebook_ranks as ranks
from course_utils.chapters.collectives.by_hand import backend_of, gpu_seconds
from course_utils.chapters.data_parallelism.trials import ddp_against_one, fashion, resnet18_for_28
from course_utils.core.timing import synchronize
from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.recipes import refuse_nan

OVERLAPS = {"buckets of 25 MiB": 25, "one bucket": 10_000, "nothing sent": 25}  # way: its MiB
HALVES = {torch.bfloat16: "BF16", torch.float16: "FP16"}
Row = dict[str, Any]


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


def time_resnet18(batch: int, times: int = 10) -> dict[str, float]:
    """A DDP step of ResNet-18 with `batch` images a GPU: seconds of the slowest, own peak bytes."""
    _forget()
    torch.manual_seed(0)
    model = DistributedDataParallel(resnet18_for_28().cuda())
    return _timed(resnet_step(model, batch, "cuda"), times)


def time_gpt(config: GPTConfig, batch: int, times: int = 10) -> dict[str, float]:
    """A DDP step of a GPT with `batch` texts a GPU: seconds of the slowest, own peak bytes."""
    _forget()
    model = DistributedDataParallel(_gpt(config))
    return _timed(gpt_step(model, config, batch, "cuda", half_format()), times)


def time_overlap(way: str, config: GPTConfig, batch: int, times: int = 10) -> dict[str, float]:
    """A DDP step by one of OVERLAPS: "one bucket" is sent when the backward pass has ended.

    (DDP begins with a small bucket of its own, 1 MiB.) "nothing sent" is the step under `no_sync`.
    """
    _forget()
    model = DistributedDataParallel(_gpt(config), bucket_cap_mb=OVERLAPS[way])
    step = gpt_step(model, config, batch, "cuda", half_format())

    def alone() -> Tensor:
        with model.no_sync() if way == "nothing sent" else nullcontext():
            return step()

    return _timed(alone, times)


def _timed(step: Callable[[], Tensor], times: int) -> dict[str, float]:
    torch.cuda.reset_peak_memory_stats()
    seconds = gpu_seconds(step, times, warm_up=3, queued=False)
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
    return GPT(config).cuda()
