"""Chapter 13's step of real size, on GPUs: `record_each` calls it for a row.

One GPU shows the bytes of each way, and what offloading costs; what gathers cost shows on two or
more.
"""

from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import notebook_ranks as ranks
from course_utils.chapters.data_parallelism import real_steps
from course_utils.workloads.gpt import GPT, GPTConfig

WAYS: dict[str, dict[str, Any]] = {  # by name: what fully_shard is given
    "a copy each (DDP)": {},
    "a unit a block": {},
    "nothing is freed": {"reshard_after_forward": False},
    "one unit": {},
    "shards on the host": {"offload_policy": CPUOffloadPolicy()},
}


def sharded_row(case: dict[str, Any]) -> dict[str, Any]:
    """Returns seconds and peak bytes of GPT small's step on `gpus` GPUs by a `way` of WAYS.

    `batch` is the number of sequences on each. Seconds are the slowest rank's; the peak is what
    torch's allocator gave out on rank 0. Weights are FP32, matmuls BF16: DDP by autocast, FSDP by
    its policy.
    """
    real_steps.on_gpus(case["gpus"])
    return dict(ranks.run(time_way, case["way"], GPTConfig.small(), case["batch"])[0])


def time_way(way: str, config: GPTConfig, batch: int) -> dict[str, float]:
    """Runs one way's step on a rank; returns what `sharded_row` does."""
    torch.manual_seed(0)
    tokens = torch.randint(config.vocabulary, (batch, config.context), device="cuda")
    model = GPT(config).cuda()
    is_copy = "DDP" in way
    wrapped = DistributedDataParallel(model) if is_copy else _sharded(model, way)
    optimizer = torch.optim.AdamW(wrapped.parameters(), 1e-4)

    def step() -> Tensor:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=is_copy):
            loss = F.cross_entropy(wrapped(tokens).flatten(0, 1).float(), tokens.flatten())
        loss.backward()
        optimizer.step()
        return loss

    return real_steps.timed(step)


def _sharded(model: GPT, way: str) -> torch.nn.Module:
    mesh = init_device_mesh("cuda", (torch.distributed.get_world_size(),))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for unit in [model] if way == "one unit" else [*model.blocks, model]:
        fully_shard(unit, mesh=mesh, mp_policy=policy, **WAYS[way])
    return model
