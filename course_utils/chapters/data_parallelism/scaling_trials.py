"""How data-parallel steps scale: on this machine's ranks, and as others published it."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_utils.core.evidence import Series, published
from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig


def step_seconds(batch: int = 32, steps: int = 8) -> float:
    """Seconds of a step of the tiny GPT with `batch` lines on each rank, on the processor.

    Called on all ranks. By hand, with one all_reduce: DDP and torch.optim take seconds to import
    in each new rank.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lines, model = Addition().train[:batch], GPT(GPTConfig.tiny())
    began = 0.0
    for step in range(steps + 2):
        if step == 2:  # the first two warm up
            dist.barrier()
            began = time.perf_counter()
        gradients = torch.autograd.grad(answer_loss(model, lines), list(model.parameters()))
        mean = torch.cat([gradient.flatten() for gradient in gradients]) / dist.get_world_size()
        dist.all_reduce(mean)
        weights = parameters_to_vector(model.parameters()).detach()
        vector_to_parameters(weights - 0.01 * mean, model.parameters())
    return (time.perf_counter() - began) / steps


def gpu_efficiency(rows: Sequence[Mapping[str, Any]], batch: int = 8) -> dict[int, float]:
    """Throughput a GPU relative to one GPU's, from rows of `gpt_small_step` with equal batches.

    Empty where fewer than two numbers of GPUs were timed, or one GPU wasn't.
    """
    rates = {row["gpus"]: row["tokens_per_s"] for row in rows if row["batch"] == batch}
    if 1 not in rates or len(rates) == 1:
        return {}
    return {n: rate / n / rates[1] for n, rate in rates.items()}


def published_efficiency() -> dict[str, Series]:
    """Throughput a device by number of devices, relative to the fewest that were published."""
    d2l, a100, h100 = map(
        published, ("data_parallel_d2l", "data_parallel_a100", "llm_foundry_h100")
    )
    found = {}
    for name, way in (("LeNet", "by hand"), ("ResNet-18", "DataParallel")):
        rows = [row for row in d2l.rows if row["model"] == name]
        found[f"{name}, {way}"] = _relative(
            {r["gpus"]: 1 / r["epoch_seconds"] / r["gpus"] for r in rows}, d2l
        )
    each = {row["gpus"]: row["tokens_per_s"] / row["gpus"] for row in a100.rows}
    found["GPT, A100"] = _relative(each, a100)
    rows = [row for row in h100.rows if row["model"] == "7B"]
    found["7B, H100, sharded"] = _relative(
        {row["gpus"]: row["tokens_per_s_gpu"] for row in rows}, h100
    )
    return found


def _relative(each: dict[int, float], source: Series) -> Series:
    first = each[min(each)]
    return Series({n: x / first for n, x in each.items()}, "published", source.provenance)
