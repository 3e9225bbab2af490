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
STAGES = (0, 1, 2, 3)


def deepspeed_rows() -> list[dict[str, Any]]:
    """What DeepSpeed holds and sends on the ranks that run, a row a stage; none without it.

    A row has the seconds of its set-up (in which it compiles an operator, the first time), the
    bytes of Adam's states on rank 0, and the bytes that a ring would send. The model is the
    course's tiny GPT in FP32, 8 of 32 lines a rank, on processors.
    """
    if importlib.util.find_spec("deepspeed") is None:
        return []
    rows: list[dict[str, Any]] = ranks.run(_rows)[0]
    return rows


def _rows() -> list[dict[str, Any]]:
    os.environ.update(SETTINGS)
    import deepspeed

    lines = Addition().train[:32].chunk(dist.get_world_size())[dist.get_rank()]
    rows = []
    for stage in STAGES:
        torch.manual_seed(0)
        model = GPT(GPTConfig.tiny())
        began = time.perf_counter()
        engine, optimizer, *_ = deepspeed.initialize(
            model=model,
            optimizer=torch.optim.Adam(model.parameters(), lr=1e-2),
            dist_init_required=False,
            config={
                "train_micro_batch_size_per_gpu": len(lines),
                "zero_allow_untested_optimizer": True,
                "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0},
            },
        )
        set_up = time.perf_counter() - began
        with Traffic() as traffic:
            engine.backward(answer_loss(engine, lines))
            engine.step()
        inner = getattr(optimizer, "optimizer", optimizer)
        states = sum(
            value.nbytes
            for state in inner.state.values()
            for value in state.values()
            if torch.is_tensor(value) and value.dim()
        )
        rows.append(
            {
                "by": f"DeepSpeed {deepspeed.__version__}, stage {stage}",
                "states_bytes": states,
                "sent_bytes": traffic.sent.total(),
                "set_up_seconds": set_up,
            }
        )
    return rows
