"""DeepSpeed's stages beside the page's own, where it is installed; it is no dependency."""

import importlib.util
import os
import time
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
    "stage 2, reduced to owners": {"stage": 2, "use_multi_rank_bucket_allreduce": False},
    "stage 3": WHOLE,
    "stage 3, nothing kept": WHOLE
    | {"stage3_max_reuse_distance": 0, "stage3_max_live_parameters": 0},
}
MICRO_BATCHES = 4


def deepspeed_rows() -> list[dict[str, Any]]:
    """Returns what DeepSpeed holds and sends on the running ranks, a row a stage; none without it.

    A row has the seconds of its set-up (in which it compiles an operator, the first time), the
    bytes of Adam's states on rank 0, and the bytes that a ring would send in a step of one
    micro-batch and of four. The model is the course's tiny GPT in FP32 on CPUs, 32 samples a step.
    """
    if importlib.util.find_spec("deepspeed") is None:
        return []
    return list(ranks.run(_rows)[0])


def _rows() -> list[dict[str, Any]]:
    os.environ.update(SETTINGS)
    import deepspeed

    rows = []
    for name, config in STAGES.items():
        set_up, states, sent = _step(config, 1)
        row = {"by": f"DeepSpeed {deepspeed.__version__}, {name}", "states_bytes": states}
        row |= {"sent_bytes": sent, "sent_bytes_of_4": _step(config, MICRO_BATCHES)[2]}
        rows.append(row | {"set_up_seconds": set_up})
    return rows


def _step(config: dict[str, Any], micro_batches: int) -> tuple[float, int, int]:
    """Seconds of the set-up, bytes of Adam's states, and bytes sent in a step."""
    import deepspeed

    mine = Addition().train[:32].chunk(dist.get_world_size())[dist.get_rank()]
    torch.manual_seed(0)
    model = GPT(GPTConfig.tiny())
    began = time.perf_counter()
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
    set_up = time.perf_counter() - began
    with Traffic() as traffic:
        for samples in mine.chunk(micro_batches):
            engine.backward(answer_loss(engine, samples))
            engine.step()
    kept = getattr(optimizer, "optimizer", optimizer).state.values()
    tensors = [x for state in kept for x in state.values() if torch.is_tensor(x) and x.dim()]
    return set_up, sum(x.nbytes for x in tensors), traffic.sent.total()
