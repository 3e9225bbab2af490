"""torch's pipeline stage, which notes what it did, when, what it held and what it sent."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.distributed.pipelining import PipelineStage

from course_utils.chapters.tensor_and_pipeline.pipeline_run import Action
from course_utils.figures.timeline import Span


class WatchedStage(PipelineStage):
    """A `PipelineStage` of the default group with notes on its last step.

    `actions`: what it computed, in order; `times`: of each the start and the end, in seconds of
    this machine's clock; `alive`: of how many micro-batches torch held the activations after each;
    `sent`: bytes of each message to another rank.
    """

    def __init__(self, module: nn.Module, number: int, stages: int, device: torch.device) -> None:
        super().__init__(module, number, stages, device)
        self._forget()

    def clear_runtime_states(self) -> None:
        """torch calls it at the beginning of each step."""
        super().clear_runtime_states()
        self._forget()

    def forward_one_chunk(self, fwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        """F of one micro-batch."""
        return self._noted("F", fwd_chunk_id, super().forward_one_chunk, *args, **kwargs)

    def backward_one_chunk(self, bwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        """B of one micro-batch, or I where the weights' gradient comes later."""
        kind = "B" if kwargs.get("full_backward", True) else "I"
        return self._noted(kind, bwd_chunk_id, super().backward_one_chunk, *args, **kwargs)

    def backward_weight_one_chunk(self, bwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        """W of one micro-batch."""
        return self._noted("W", bwd_chunk_id, super().backward_weight_one_chunk, *args, **kwargs)

    def get_fwd_send_ops(self, fwd_chunk_id: int) -> list[torch.distributed.P2POp]:
        """The messages to the next stage."""
        return self._counted(super().get_fwd_send_ops(fwd_chunk_id))

    def get_bwd_send_ops(self, bwd_chunk_id: int) -> list[torch.distributed.P2POp]:
        """The messages to the stage before."""
        return self._counted(super().get_bwd_send_ops(bwd_chunk_id))

    def spans(self, row: str = "") -> list[Span]:
        """What it computed as bars, the micro-batch in each; `row` is "rank 2" on rank 2."""
        row, later = row or f"rank {self.group_rank}", "+" * (self.stage_index >= self.group_size)
        return [
            Span(row, kind + later, start, end, str(batch))
            for (_, kind, batch), (start, end) in zip(self.actions, self.times, strict=True)
        ]

    def _forget(self) -> None:
        self.actions: list[Action] = []
        self.times: list[tuple[float, float]] = []
        self.alive: list[int] = []
        self.sent: list[int] = []

    def _noted(self, kind: str, batch: int, do: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        start = time.perf_counter()
        result = do(batch, *args, **kw)
        self.times.append((start, time.perf_counter()))
        self.actions.append((self.stage_index, kind, batch))
        self.alive.append(len(self.fwd_cache.keys() | self.backward_state.keys()))
        return result

    def _counted(self, messages: list[torch.distributed.P2POp]) -> list[torch.distributed.P2POp]:
        self.sent += [one.tensor.nbytes for one in messages]
        return messages


def together(stages: Sequence[WatchedStage]) -> tuple[list[Action], int]:
    """What a rank computed on all its stages, in order, and the most activations alive at once."""
    now, most = dict.fromkeys(range(len(stages)), 0), 0
    notes = sorted(
        (times, action, alive, place)
        for place, stage in enumerate(stages)
        for times, action, alive in zip(stage.times, stage.actions, stage.alive, strict=True)
    )
    for _, _, alive, place in notes:
        now[place] = alive
        most = max(most, sum(now.values()))
    return [action for _, action, _, _ in notes], most


class Sleeper(nn.Module):
    """A stage that sleeps instead of computing, so that more ranks than cores run side by side.

    It takes `seconds` forward and twice as long backward, and changes nothing.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.weight = seconds, nn.Parameter(torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        slept: torch.Tensor = _Sleep.apply(x, self.weight, self.seconds)
        return slept


class _Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, seconds: float) -> torch.Tensor:
        ctx.seconds = seconds
        time.sleep(seconds)
        return x + weight

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        time.sleep(2 * ctx.seconds)
        return grads[0].contiguous(), grads[0].sum(), None
