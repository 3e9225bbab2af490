"""Training steps to predict and to measure: a model, its batch, and ways to save memory.

`predict_bytes` and `measured_on_gpu` take `TrainingStep(...).build` as an argument.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.resnet import ResNet18

# ---- BERT (Devlin et al. 2018) as its users fine-tune it: a classifier over two labels.


@dataclass(frozen=True)
class BertConfig:
    vocabulary: int = 30522
    context: int = 512
    layers: int = 12
    heads: int = 12
    width: int = 768
    inner: int = 3072
    dropout: float = 0.1
    labels: int = 2

    @classmethod
    def large(cls) -> Self:
        """BERT-Large: 335,143,938 parameters."""
        return cls(layers=24, heads=16, width=1024, inner=4096)


class Embeddings(nn.Module):
    """The sum of token, position and segment embeddings, normalised, with dropout."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.segments = nn.Embedding(2, config.width)
        self.norm = nn.LayerNorm(config.width, eps=1e-12)
        self.dropout = config.dropout

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)[None]
        x = self.tokens(tokens) + self.segments(torch.zeros_like(tokens)) + self.positions(places)
        return F.dropout(self.norm(x), self.dropout, self.training)


class Attention(nn.Module):
    """Every position attends to every other; `hidden` (batch, 1, 1, length) is added to the scores.

    Attention is written out, so that the scores, their softmax and its dropout mask are all saved.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        q, k, v = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (x.shape[-1] // self.heads) ** 0.5
        shares = F.dropout(F.softmax(scores + hidden, -1), self.dropout, self.training)
        return torch.matmul(shares, v).transpose(1, 2).contiguous().flatten(2)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class AddAndNorm(nn.Module):
    """A linear layer and dropout; then the input `came_in` is added, and the sum normalised."""

    def __init__(self, config: BertConfig, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, config.width)
        self.norm = nn.LayerNorm(config.width, eps=1e-12)
        self.dropout = config.dropout

    def forward(self, x: Tensor, came_in: Tensor) -> Tensor:
        return self.norm(F.dropout(self.linear(x), self.dropout, self.training) + came_in)


class Layer(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.after_attention = AddAndNorm(config, config.width)
        self.up = nn.Linear(config.width, config.inner)
        self.down = AddAndNorm(config, config.inner)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        x = self.after_attention(self.attention(x, hidden), x)
        return self.down(F.gelu(self.up(x)), x)


class Bert(nn.Module):
    """Maps tokens (batch, length) and a mask of the real ones to logits (batch, labels)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.pooler = nn.Linear(config.width, config.width)
        self.classifier = nn.Linear(config.width, config.labels)
        self.dropout = config.dropout

    def forward(self, tokens: Tensor, real: Tensor) -> Tensor:
        x = self.embeddings(tokens)
        hidden = (1 - real[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, hidden)
        pooled = torch.tanh(self.pooler(x[:, 0]))
        return self.classifier(F.dropout(pooled, self.dropout, self.training))


# ---- The multi-tensor Adam of torch 2.0 and before, for the memory of runs from that time.

BETAS, EPSILON = (0.9, 0.999), 1e-8  # torch's own


class TwoListAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba 2015) whose step holds two temporaries of the parameters' size.

    `weight_decay` is decoupled from the gradient, as in AdamW. Steps are counted on the host.
    Raises: the errors of torch.optim.Optimizer, for parameters that aren't tensors.
    """

    def __init__(
        self, params: Iterable[Tensor], lr: float = 1e-3, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay))
        self.steps = 0

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Updates every parameter that has a gradient."""
        self.steps += 1
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._update(group, parameters)

    def _update(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        beta_1, beta_2 = BETAS
        gradients = [p.grad for p in parameters if p.grad is not None]
        means, squares = self._states(parameters)
        torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_mul_(means, beta_1)
        torch._foreach_add_(means, gradients, alpha=1 - beta_1)
        torch._foreach_mul_(squares, beta_2)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta_2)
        roots = torch._foreach_sqrt(squares)
        torch._foreach_div_(roots, (1 - beta_2**self.steps) ** 0.5)
        divisors = torch._foreach_add(roots, EPSILON)
        torch._foreach_addcdiv_(
            parameters, means, divisors, value=-group["lr"] / (1 - beta_1**self.steps)
        )

    def _states(self, parameters: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        for p in parameters:
            if not self.state[p]:
                self.state[p] = {"mean": torch.zeros_like(p), "square": torch.zeros_like(p)}
        states = [self.state[p] for p in parameters]
        return [s["mean"] for s in states], [s["square"] for s in states]


Example = tuple[tuple[Tensor, ...], Tensor]
WIDTH, LAYERS, CLASSES = 4096, 4, 1000


def mlp() -> nn.Module:
    """Makes four layers of 4,096 and a head: 71,213,032 parameters."""
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
    """A training step of one of MODELS: `accumulate` batches of `batch` samples.

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
        """Returns model, optimizer and a function that does one step, on `device`."""
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
    """Lists each model in FP32 and AMP, with batch 1 and larger, plain, accumulating and
    checkpointing."""
    return [
        TrainingStep(model, batch, precision, accumulate, checkpointing)
        for model, (_, _, larger) in MODELS.items()
        for precision, batch in product(PRECISIONS, (1, larger))
        for accumulate, checkpointing in ((1, False), (4, False), (1, True))
    ]


def mystery_steps() -> list[TrainingStep]:
    """Lists BERT-Large with batch 4 and with 4 times batch 1, with torch 2.0's Adam and today's."""
    return [
        TrainingStep("BERT-Large", batch, accumulate=accumulate, optimizer=optimizer)
        for optimizer in OPTIMIZERS
        for batch, accumulate in ((4, 1), (1, 4))
    ]


def _checkpoint_blocks(model: nn.Module) -> None:
    """Makes the backward pass compute every block again, instead of saving its activations."""
    blocks: Any = getattr(model, "blocks", None) or getattr(model, "layers", None) or model
    for block in blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
