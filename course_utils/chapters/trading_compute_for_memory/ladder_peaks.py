"""Peaks and seconds of GPT `small` with its blocks checkpointed: predicted, and on a GPU."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from course_utils.workloads.gpt import GPT, GPTConfig

CONFIG = GPTConfig(vocabulary=50304, context=1024, layers=12, heads=12, width=768)
SEQUENCES = 8
STEPS = 2
Row = dict[str, Any]


@dataclass(frozen=True)
class Trade:
    """An eager step of GPT `small` on sequences of 1,024 tokens, AMP to BF16, Adam.

    Each block is checkpointed if `checkpointing`, with `keep_products` but for what the products
    and attention give.
    """

    checkpointing: bool = False
    keep_products: bool = False
    config: GPTConfig = CONFIG
    sequences: int = SEQUENCES

    def build(self, device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer, Any]:
        """Model, optimizer and a function that does one step, as `predict_bytes` takes them."""
        with torch.device(device):
            model: Any = GPT(self.config)
            shape = 2, self.sequences, self.config.context
            tokens, targets = torch.randint(self.config.vocabulary, shape)
        if self.checkpointing:
            run: Callable[..., Tensor] = partial(checkpoint, use_reentrant=False)
            if self.keep_products:
                contexts = partial(create_selective_checkpoint_contexts, _policy)
                run = partial(run, context_fn=contexts)
            model.blocks = nn.ModuleList(_Segment(block, run) for block in model.blocks)
        adam = torch.optim.Adam(model.parameters())

        def step() -> None:
            with torch.autocast(device.type, torch.bfloat16):
                loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
            loss.backward()
            adam.step()
            adam.zero_grad()

        return model, adam, step


TRADES: dict[str, Trade] = {
    "nothing": Trade(),
    "each block checkpointed": Trade(checkpointing=True),
    "matmuls kept": Trade(checkpointing=True, keep_products=True),
    # A quarter of the batch in as much time: the host, which launches as much, sets it.
    "nothing, 2 sequences": Trade(sequences=2),
    "each block checkpointed, 2 sequences": Trade(checkpointing=True, sequences=2),
}


class _Segment(nn.Module):
    def __init__(self, block: nn.Module, run: Callable[..., Tensor]) -> None:
        super().__init__()
        self.block, self.run = block, run

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self.block, x)


def _policy(_context: Any, operator: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
    keep = "addmm" in str(operator) or "attention" in str(operator)
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE


def predicted_bytes(name: str) -> int:
    """Returns what a trade allocates at its peak on a GPU such as an H100, by the fake GPU."""
    from course_utils.memory.prediction import predict_bytes

    return predict_bytes(TRADES[name].build, STEPS).peak_allocated


def measure_trade(case: Row) -> Row:
    """Returns a trade's peaks, predicted and in a fresh process on the GPU, and its time."""
    from course_utils.core.timing import measure
    from course_utils.memory.on_gpu import emptied, measured_on_gpu

    trade = TRADES[case["trade"]]
    peaks = measured_on_gpu(trade.build, STEPS)
    step = trade.build(torch.device("cuda"))[2]
    step()
    taken = measure(step)
    del step
    emptied()
    return {
        "predicted_bytes": predicted_bytes(case["trade"]),
        "allocated_bytes": peaks["allocated"],
        "reserved_bytes": peaks["reserved"],
        "step_seconds": taken,
    }
