"""The peaks of GPT `small` under each trade: predicted and kept in a file, measured on a GPU.

`python -m course_utils predict` predicts them all (about a minute) and writes
data/predicted/trades.json; a test predicts some of them again and compares.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import save_on_cpu
from torch.nn import functional as F
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from course_utils.core import files
from course_utils.memory import kept_predictions
from course_utils.workloads.gpt import GPT, GPTConfig

# ---- GPT `small` with each of the chapter's trades: steps to predict, and to measure on a GPU.

CONFIG = GPTConfig(vocabulary=50304, context=1024, layers=12, heads=12, width=768)
LINES = 8


@dataclass(frozen=True)
class Trade:
    """A step of GPT `small` on `LINES` lines of 1,024 tokens, AMP to BF16, Adam; and what differs.

    `segment` blocks are checkpointed together (0: none), with `keep_products` but for what the
    products and attention give; `offload` keeps activations in the host's memory; `chunk` is the
    rows of logits that are made at a time (0: all); `accumulate` is the micro-batches of the step;
    with `in_backward` each parameter is updated as soon as its gradient is there.
    """

    segment: int = 0
    keep_products: bool = False
    offload: bool = False
    chunk: int = 0
    accumulate: int = 1
    in_backward: bool = False
    config: GPTConfig = CONFIG

    def build(self, device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer, Any]:
        """Model, optimizer and a function that does one step, as `predict_bytes` takes them."""
        with torch.device(device):
            model = GPT(self.config)
            shape = self.accumulate, 2, LINES // self.accumulate, self.config.context
            data = torch.randint(self.config.vocabulary, shape)
        if self.segment:
            self._checkpoint(model)
        optimizer, update = self._optimizer(model)

        def step() -> None:
            for tokens, targets in data:
                with torch.autocast(device.type, torch.bfloat16), self._saved():
                    loss = self._loss(model, tokens, targets.flatten())
                (loss / self.accumulate).backward()
            update()

        return model, optimizer, step

    def _checkpoint(self, model: Any) -> None:
        run: Callable[..., Tensor] = partial(checkpoint, use_reentrant=False)
        if self.keep_products:
            run = partial(run, context_fn=partial(create_selective_checkpoint_contexts, _policy))
        blocks = list(model.blocks)
        model.blocks = nn.ModuleList(
            _Segment(blocks[k : k + self.segment], run) for k in range(0, len(blocks), self.segment)
        )

    def _optimizer(self, model: nn.Module) -> tuple[torch.optim.Optimizer, Callable[[], None]]:
        if not self.in_backward:
            adam = torch.optim.Adam(model.parameters())

            def update() -> None:
                adam.step()
                adam.zero_grad()

            return adam, update
        whole = torch.optim.Adam(model.parameters())
        own: dict[Tensor, torch.optim.Adam] = {
            parameter: torch.optim.Adam([parameter]) for parameter in model.parameters()
        }
        for one in own.values():
            one.state = whole.state  # so that who counts `whole` counts them all

        def updated(parameter: Tensor) -> None:
            own[parameter].step()
            own[parameter].zero_grad()

        for parameter in own:
            parameter.register_post_accumulate_grad_hook(updated)
        return whole, lambda: None

    def _saved(self) -> AbstractContextManager[Any]:
        return save_on_cpu(pin_memory=torch.cuda.is_available()) if self.offload else nullcontext()

    def _loss(self, model: Any, tokens: Tensor, targets: Tensor) -> Tensor:
        if not self.chunk:
            return F.cross_entropy(model(tokens).flatten(0, 1), targets)
        features = _features(model, tokens).flatten(0, 1)
        parts = [
            checkpoint(_summed, part, model.tokens.weight, of_part, use_reentrant=False)
            for part, of_part in zip(
                features.split(self.chunk), targets.split(self.chunk), strict=True
            )
        ]
        return torch.stack(parts).sum() / len(targets)


LADDER: dict[str, Trade] = {
    "nothing": Trade(),
    "each block checkpointed": Trade(segment=1),
    "matmuls kept": Trade(segment=1, keep_products=True),
    "activations on the host": Trade(offload=True),
    "logits in chunks": Trade(chunk=1024),
    "blocks and chunks": Trade(segment=1, chunk=1024),
    "8 micro-batches": Trade(accumulate=8),
    "update in the backward": Trade(in_backward=True),
    "blocks, chunks, update": Trade(segment=1, chunk=1024, in_backward=True),
}


class _Segment(nn.Module):
    def __init__(self, blocks: Iterable[nn.Module], run: Callable[..., Tensor]) -> None:
        super().__init__()
        self.blocks, self.run = nn.Sequential(*blocks), run

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self.blocks, x)


def _policy(_context: Any, operator: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
    keep = "addmm" in str(operator) or "attention" in str(operator)
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE


def _features(model: Any, tokens: Tensor) -> Tensor:
    """What the logits are made of."""
    places = torch.arange(tokens.shape[1], device=tokens.device)
    x = model.tokens(tokens) + model.positions(places)
    for block in model.blocks:
        x = block(x)
    return model.norm(x)


def _summed(features: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(features, weight), targets, reduction="sum")


FILE = files.DATA / "predicted" / "trades.json"
STEPS = 2
Row = dict[str, Any]


def predicted_trades() -> dict[str, Row]:
    """By trade: the kept prediction of its peaks, in bytes, and the parts of the first.

    Raises: OSError without the file.
    """
    return {row["trade"]: row for row in kept_predictions.read(FILE)["rows"]}


def predicted_where() -> str:
    """With what and when that was predicted, in one line."""
    kept = kept_predictions.read(FILE)
    return f"predicted for an H200 with torch {kept['torch']}, {kept['date'][:10]}"


def predict_trade(trade: Trade) -> Row:
    """What a trade allocates and reserves at its peak on a GPU such as an H200, in bytes."""
    from course_utils.memory.prediction import predict_bytes

    found = predict_bytes(trade.build, STEPS)
    return {
        "allocated_bytes": found.peak_allocated,
        "reserved_bytes": found.peak_reserved,
        "parts_bytes": found.parts,
    }


def store() -> Path:
    """Predicts every trade and writes them: about a minute."""
    from course_utils.core.running import bar

    rows = [{"trade": name} | predict_trade(LADDER[name]) for name in bar(list(LADDER), "trades")]
    kept_predictions.write(FILE, rows)
    return FILE


def measure_trade(case: Row) -> Row:
    """Returns the peaks of a trade in a fresh process on the GPU, and its seconds a step."""
    from course_utils.core.timing import measure
    from course_utils.memory.on_gpu import emptied, measured_on_gpu

    trade = LADDER[case["trade"]]
    peaks = measured_on_gpu(trade.build, STEPS)
    step = trade.build(torch.device("cuda"))[2]
    step()
    taken = measure(step)
    del step
    emptied()
    return {
        "allocated_bytes": peaks["allocated"],
        "reserved_bytes": peaks["reserved"],
        "step_seconds": taken,
    }
