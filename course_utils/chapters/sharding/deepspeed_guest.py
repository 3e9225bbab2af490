"""DeepSpeed's stages beside the page's own, where it is installed; it is no dependency."""

import importlib.util
import os
from typing import Any

import torch
import torch.distributed as dist

import notebook_ranks as ranks
from course_utils.chapters.sharding.watching import Traffic
from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig

SETTINGS = {"DS_BUILD_OPS": "0", "DS_ACCELERATOR": "cpu"}
WHOLE = {"stage": 3, "stage3_param_persistence_threshold": 0}  # shards small parameters, too
STAGES: dict[str, dict[str, Any]] = {  # by name: the configuration's `zero_optimization`
    "stage 0": {"stage": 0},
    "stage 1": {"stage": 1},
    "stage 2": {"stage": 2},
    "stage 2, multi_rank_bucket off": {"stage": 2, "use_multi_rank_bucket_allreduce": False},
    "stage 3": WHOLE,
    "stage 3, no reuse": WHOLE | {"stage3_max_reuse_distance": 0, "stage3_max_live_parameters": 0},
}
WARM_UP = 2  # steps: stage 3 keeps nothing until it has traced a whole one


def deepspeed_rows() -> list[dict[str, Any]]:
    """Returns what DeepSpeed holds and sends on the running ranks, a row a stage; none without it.

    A row has the bytes of Adam's states on rank 0, and the bytes that a ring would send in a
    third step of one micro-batch and of four. The model is the course's tiny GPT in FP32 on CPUs,
    with 32 samples a step.
    """
    if importlib.util.find_spec("deepspeed") is None:
        return []
    return list(ranks.run(_rows)[0])


def _rows() -> list[dict[str, Any]]:
    os.environ.update(SETTINGS)
    import deepspeed

    # an operator for inference, which would be compiled for minutes
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    rows = []
    for name, config in STAGES.items():
        (states, sent), (_, sent_of_4) = _step(config, 1), _step(config, 4)
        row = {"by": f"DeepSpeed {deepspeed.__version__}, {name}", "states_bytes": states}
        rows.append(row | {"sent_bytes": sent, "sent_bytes_of_4": sent_of_4})
    return rows


def _step(config: dict[str, Any], micro_batches: int) -> tuple[int, int]:
    """Bytes of Adam's states, and bytes sent in a step."""
    import deepspeed

    mine = Addition().train[:32].chunk(dist.get_world_size())[dist.get_rank()]
    torch.manual_seed(0)
    model = GPT(GPTConfig.tiny())
    engine, optimizer, *_ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-2),
        dist_init_required=False,
        config={
            "train_micro_batch_size_per_gpu": len(mine) // micro_batches,
            "gradient_accumulation_steps": micro_batches,
            "zero_allow_untested_optimizer": True,
            "zero_optimization": config,
        },
    )
    for _ in range(WARM_UP + 1):
        with Traffic() as traffic:
            for samples in mine.chunk(micro_batches):
                engine.backward(answer_loss(engine, samples))
                engine.step()
    kept = getattr(optimizer, "optimizer", optimizer).state.values()
    tensors = [x for state in kept for x in state.values() if torch.is_tensor(x) and x.dim()]
    return sum(x.nbytes for x in tensors), traffic.sent.total()
