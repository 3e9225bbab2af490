"""Training steps to predict and to measure: a model, its batch, and what saves memory.

`TrainingStep(...).build` is what `predict_bytes` and `measured_on_gpu` take.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from course_utils.workloads.adam_2_0 import TwoListAdam
from course_utils.workloads.bert import Bert, BertConfig
from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.resnet import ResNet18

Example = tuple[tuple[Tensor, ...], Tensor]
WIDTH, LAYERS, CLASSES = 4096, 4, 1000


def mlp() -> nn.Module:
    """Four layers of 4,096 and a head: 71,213,032 parameters."""
    layers = [
        layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())
    ]  # fmt: skip
    return nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES))


def _vectors(batch: int) -> Example:
    return (torch.randn(batch, WIDTH),), torch.randint(CLASSES, (batch,))


def _images(batch: int) -> Example:
    return (torch.randn(batch, 3, 224, 224),), torch.randint(CLASSES, (batch,))


def _lines(batch: int) -> Example:
    tokens, targets = torch.randint(50257, (2, batch, 1024))
    return (tokens,), targets.flatten()


def _sentences(batch: int) -> Example:
    tokens = torch.randint(30522, (batch, 512))
    return (tokens, torch.ones_like(tokens)), torch.randint(2, (batch,))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Example], int]] = {
    "MLP": (mlp, _vectors, 1024),
    "ResNet-18": (ResNet18, _images, 32),
    "GPT": (lambda: GPT(GPTConfig.small()), _lines, 4),
    "BERT-Large": (lambda: Bert(BertConfig.large()), _sentences, 4),
}
PRECISIONS = {"FP32": None, "AMP": torch.bfloat16}
OPTIMIZERS: dict[str, Any] = {"Adam": torch.optim.Adam, "Adam of torch 2.0": TwoListAdam}


@dataclass(frozen=True)
class TrainingStep:
    """One of MODELS, trained with batches of `batch`, of which `accumulate` make a step.

    `precision` is one of PRECISIONS (AMP to BF16, without a scaler), `optimizer` of OPTIMIZERS;
    `checkpointing` recomputes each block in the backward pass. Raises: ValueError for another.
    """

    model: str
    batch: int = 1
    precision: str = "FP32"
    accumulate: int = 1
    checkpointing: bool = False
    optimizer: str = "Adam"

    def __post_init__(self) -> None:
        for value, known in (
            (self.model, MODELS),
            (self.precision, PRECISIONS),
            (self.optimizer, OPTIMIZERS),
        ):
            if value not in known:
                raise ValueError(f"no {value!r}; there are {', '.join(known)}")
        if self.batch < 1 or self.accumulate < 1:
            raise ValueError("batch and accumulate are at least 1")

    def build(self, device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer, Any]:
        """Model, optimizer and a function that does one step, on `device`."""
        make, example, _ = MODELS[self.model]
        with torch.device(device):
            model = make()
            batches = [example(self.batch) for _ in range(self.accumulate)]
        if self.checkpointing:
            _checkpoint_blocks(model)
        optimizer = OPTIMIZERS[self.optimizer](model.parameters())
        dtype = PRECISIONS[self.precision]

        def step() -> None:
            optimizer.zero_grad()
            for inputs, targets in batches:
                with torch.autocast(device.type, dtype, enabled=dtype is not None):
                    loss = F.cross_entropy(model(*inputs).flatten(0, -2), targets)
                (loss / self.accumulate).backward()
            optimizer.step()

        return model, optimizer, step


def all_steps() -> list[TrainingStep]:
    """Each model, in FP32 and AMP, with batch 1 and larger, plain, accumulating, checkpointing."""
    return [
        TrainingStep(model, batch, precision, accumulate, checkpointing)
        for model, (_, _, larger) in MODELS.items()
        for precision, batch in product(PRECISIONS, (1, larger))
        for accumulate, checkpointing in ((1, False), (4, False), (1, True))
    ]


def mystery_steps() -> list[TrainingStep]:
    """BERT-Large with batch 4 and with 4 times batch 1, each with torch 2.0's Adam and today's."""
    return [
        TrainingStep("BERT-Large", batch, accumulate=accumulate, optimizer=optimizer)
        for optimizer in OPTIMIZERS
        for batch, accumulate in ((4, 1), (1, 4))
    ]


def _checkpoint_blocks(model: nn.Module) -> None:
    """Every block of the model is run again in the backward pass instead of kept."""
    blocks: Any = getattr(model, "blocks", None) or getattr(model, "layers", None) or model
    for block in blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
