"""DeepSpeed's stages beside the page's own, where it is installed; it is no dependency."""

import importlib.util
import os
import time
from collections import Counter
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

import notebook_ranks as ranks
from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig

# ---- What ranks hand to their collectives, counted where torch dispatches them: FSDP's and
# yours.

GATHERS = ("_allgather_base_", "all_gather_into_tensor", "all_gather_into_tensor_out")
SCATTERS = ("_reduce_scatter_base_", "reduce_scatter_tensor")
REDUCES = ("allreduce_", "all_reduce", "all_reduce_")
SPACES = ("c10d", "_c10d_functional")


class Traffic(TorchDispatchMode):
    """While it is on, `messages` counts a rank's collectives by kind, `sent` the bytes it sends.

    The bytes are those of a ring (chapter 11): an all_gather or a reduce_scatter over n ranks of a
    tensor that has S bytes when whole sends (n−1)/n·S from each rank, an all_reduce twice that. An
    all_reduce is taken to be among all ranks. What DDP's own reducer sends isn't dispatched, and
    isn't counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages = Counter[str]()
        self.sent = Counter[str]()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.namespace in SPACES:
            self._count(func.overloadpacket.__name__, args, result)
        return result

    def _count(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        n = dist.get_world_size()
        if name in GATHERS:
            whole, part = (result, args[0]) if torch.is_tensor(result) else args[:2]
            self._add("all_gather", whole.nbytes - part.nbytes)
        elif name in SCATTERS:
            part, whole = (result, args[0]) if torch.is_tensor(result) else args[:2]
            self._add("reduce_scatter", whole.nbytes - part.nbytes)
        elif name in REDUCES:
            whole = args[0] if torch.is_tensor(args[0]) else args[0][0]
            self._add("all_reduce", 2 * (n - 1) * whole.nbytes // n)

    def _add(self, kind: str, n_bytes: int) -> None:
        self.messages[kind] += 1
        self.sent[kind] += n_bytes


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
