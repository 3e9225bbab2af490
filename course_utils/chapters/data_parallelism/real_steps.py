"""Chapter 12's steps of real size on GPUs, for `record_each`.

Each function measures one row, so that a row that runs out of memory costs no other. Ranks that
have a GPU each communicate over NCCL. Steps are timed in loops between CUDA events.
"""

import gc
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import notebook_ranks as ranks
from course_utils.chapters.collectives.by_hand import gpu_seconds
from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.recipes import refuse_nan

OVERLAPS = {"buckets of 25 MiB": 25, "nothing sent": 25, "one bucket": 10_000}  # way: its MiB
HALVES = {torch.bfloat16: "BF16", torch.float16: "FP16"}
Row = dict[str, Any]


def half_format() -> torch.dtype:
    """Returns BF16 where this GPU has tensor cores for it (from Ampere on), else FP16."""
    return torch.bfloat16 if torch.cuda.get_device_capability() >= (8, 0) else torch.float16


def time_gpt(config: GPTConfig, batch: int, way: str = "") -> dict[str, float]:
    """Seconds of the slowest rank's DDP step of a GPT, and the peak bytes of this rank's GPU.

    `way` is one of OVERLAPS: "one bucket" is sent when the backward pass has ended, "nothing sent"
    is a step under `no_sync`. Without it DDP has its defaults: a first bucket of 1 MiB, then 25.
    """
    torch.manual_seed(0)
    options: dict[str, Any] = {"bucket_cap_mb": OVERLAPS[way]} if way else {}  # the first, too
    model = DistributedDataParallel(GPT(config).cuda(), **options)
    tokens = torch.randint(config.vocabulary, (batch, config.context), device="cuda")
    optimizer, half = torch.optim.AdamW(model.parameters(), 1e-4), half_format()
    scaler = torch.amp.GradScaler("cuda", enabled=half is torch.float16)

    def step() -> Tensor:
        optimizer.zero_grad()
        with model.no_sync() if way == "nothing sent" else nullcontext():
            with torch.autocast("cuda", half):
                loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return timed(step)


def timed(step: Callable[[], Tensor]) -> dict[str, float]:
    """Seconds of a step on the slowest rank's GPU, and the peak bytes of this rank's GPU.

    Garbage of earlier models (cycles of references) is collected first.
    """
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    seconds = gpu_seconds(step, 10, warm_up=3, queued=False)
    refuse_nan(step())
    return {"seconds": seconds, "peak_bytes": torch.cuda.max_memory_allocated()}


def on_gpus(n: int) -> None:
    """Starts `n` ranks with a GPU each where there are enough; else they share one, over gloo."""
    ranks.start(n, device="cuda", limit_seconds=300)


def gpt_small_row(case: Row) -> Row:
    """Measures GPT small's DDP step on `gpus` GPUs with `batch` sequences each."""
    on_gpus(case["gpus"])
    config = GPTConfig.small()
    found = ranks.run(time_gpt, config, case["batch"])[0]
    tokens = case["gpus"] * case["batch"] * config.context
    return {"format": HALVES[half_format()], **found, "tokens_per_s": tokens / found["seconds"]}


def overlap_row(case: Row) -> Row:
    """Measures GPT small's step with `batch` sequences a GPU, by a `way` of OVERLAPS."""
    on_gpus(case["gpus"])
    found = ranks.run(time_gpt, GPTConfig.small(), case["batch"], case["way"])[0]
    return {"seconds": found["seconds"]}
