"""BERT (Devlin et al. 2018) as its users fine-tune it: a classifier over two labels, whole.

Equal in parameters, operators and their order to `BertForSequenceClassification` of Hugging Face
transformers with eager attention, so that its memory is that of the published runs.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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
    """Token, position and segment, added, normalised, some dropped."""

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
    """Every position looks at every other; `hidden` (batch, 1, 1, length) is added to the scores.

    Written out, so that the scores, their softmax and its dropout mask are all kept.
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
    """A linear layer and dropout; then what came in is added, and the sum normalised."""

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
    """Tokens (batch, length) and a mask of those that are real to logits (batch, labels)."""

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
