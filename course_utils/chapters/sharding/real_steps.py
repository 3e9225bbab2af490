"""Chapter 13's step of real size, on GPUs: what `record_each` calls for a row.

One GPU shows FSDP's way through the code and its bytes; what gathers cost shows on two or more.
"""

from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import notebook_ranks as ranks
from course_utils.chapters.data_parallelism import real_steps
from course_utils.workloads.gpt import GPT, GPTConfig

WAYS = ("a copy each (DDP)", "a unit a block", "nothing is freed", "one unit")


def sharded_row(case: dict[str, Any]) -> dict[str, Any]:
    """GPT small's step on `gpus` GPUs with `batch` texts each, by a `way` of WAYS.

    Seconds of the slowest rank; the most bytes that rank 0's tensors took. Weights are FP32, what
    is computed BF16: DDP by autocast, FSDP by its policy.
    """
    real_steps.on_gpus(case["gpus"])
    found: dict[str, Any] = ranks.run(time_way, case["way"], GPTConfig.small(), case["batch"])[0]
    return found


def time_way(way: str, config: GPTConfig, batch: int) -> dict[str, float]:
    """What `sharded_row` says, on the ranks that run."""
    torch.manual_seed(0)
    tokens = torch.randint(config.vocabulary, (batch, config.context), device="cuda")
    model = GPT(config).cuda()
    wrapped = DistributedDataParallel(model) if way == WAYS[0] else _sharded(model, way)
    optimizer = torch.optim.AdamW(wrapped.parameters(), 1e-4)

    def step() -> Tensor:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=way == WAYS[0]):
            loss = F.cross_entropy(wrapped(tokens).flatten(0, 1).float(), tokens.flatten())
        loss.backward()
        optimizer.step()
        return loss

    return real_steps.timed(step)


def _sharded(model: GPT, way: str) -> torch.nn.Module:
    mesh = init_device_mesh("cuda", (torch.distributed.get_world_size(),))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    how: dict[str, Any] = {"mesh": mesh, "mp_policy": policy}
    if way == "nothing is freed":
        how["reshard_after_forward"] = False
    if way != "one unit":
        for block in model.blocks:
            fully_shard(block, **how)
    fully_shard(model, **how)
    return model
