"""Predictions for two runs whose snapshots are published: data/published/transformer_peaks.json.

The model is a language model as Stanford's CS336 describes it: RMSNorm, RoPE, attention and softmax
written out, SwiGLU, untied embeddings, an AdamW of its own. Source of the architecture: the handout
of CS336 (Spring 2025), assignment 1; of the sizes: the "medium" model of assignment 2. Vocabulary
and batch are read from the trace's logits.
"""

from dataclasses import dataclass

import torch
from torch import nn

from course_utils.memory.prediction import predict_bytes


@dataclass(frozen=True)
class Config:
    vocabulary: int = 10_000
    context: int = 128
    width: int = 1024
    inner: int = 4096
    layers: int = 24
    heads: int = 16


class Linear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in))

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        rms = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * (x * rms)


class RoPE(nn.Module):
    def __init__(self, context, size):
        super().__init__()
        angles = torch.outer(torch.arange(context), 10_000 ** (-torch.arange(0, size, 2) / size))
        self.register_buffer("cache", torch.stack((angles.cos(), angles.sin())))

    def forward(self, x):
        first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = self.cache
        turned = cos * first - sin * second, sin * first + cos * second
        return torch.stack(turned, -1).flatten(-2)


def softmax(x):
    x = torch.exp(x - x.max(-1, keepdim=True)[0])
    return x / x.sum(-1, keepdim=True)


class Attention(nn.Module):
    def __init__(self, c, rope):
        super().__init__()
        self.heads, self.rope = c.heads, rope
        self.q, self.k, self.v, self.out = (Linear(c.width, c.width) for _ in range(4))

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        q, k = self.rope(q), self.rope(k)
        places = torch.arange(x.shape[1], device=x.device)
        seen = places[:, None] >= places[None, :]
        scores = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
        scores = torch.where(seen, scores, float("-inf"))
        mixed = torch.einsum("...qk,...kd->...qd", softmax(scores), v)
        return self.out(mixed.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w1, self.w3 = Linear(c.width, c.inner), Linear(c.width, c.inner)
        self.w2 = Linear(c.inner, c.width)

    def forward(self, x):
        gate = self.w1(x)
        return self.w2(gate * torch.sigmoid(gate) * self.w3(x))


class Block(nn.Module):
    def __init__(self, c, rope):
        super().__init__()
        self.attention, self.feed = Attention(c, rope), SwiGLU(c)
        self.norm_1, self.norm_2 = RMSNorm(c.width), RMSNorm(c.width)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.feed(self.norm_2(x))


class Transformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tokens = nn.Embedding(c.vocabulary, c.width)
        rope = RoPE(c.context, c.width // c.heads)
        self.blocks = nn.ModuleList(Block(c, rope) for _ in range(c.layers))
        self.norm, self.head = RMSNorm(c.width), Linear(c.width, c.vocabulary)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def cross_entropy(logits, targets):
    x = logits - logits.max(-1, keepdim=True)[0]
    log_shares = x - torch.log(torch.exp(x).sum(-1, keepdim=True))
    return -log_shares.gather(-1, targets[..., None]).mean()


class AdamW(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            m = state.get("m", torch.zeros_like(p))
            v = state.get("v", torch.zeros_like(p))
            state["m"] = 0.9 * m + 0.1 * p.grad
            state["v"] = 0.95 * v + 0.05 * p.grad.square()
            p -= 1e-3 * state["m"] / (state["v"].sqrt() + 1e-8)
            p -= 1e-5 * p


MEDIUM = Config()
XL = Config(context=256, width=1600, inner=6400, layers=48, heads=25)


def training(config=MEDIUM, batch=4, forward_only=False, autocast=None):
    """A `build` for predict_bytes; gradients stay for a forward pass that is all of a step."""

    def build(device):
        model = Transformer(config)
        optimizer = AdamW(model.parameters())
        tokens, targets = torch.randint(config.vocabulary, (2, batch, config.context))

        def loss():
            with torch.autocast(device.type, autocast, enabled=autocast is not None):
                return cross_entropy(model(tokens), targets)

        def step():
            if forward_only and optimizer.state:
                return loss()
            optimizer.zero_grad()
            loss().backward()
            return optimizer.step()

        return model, optimizer, step

    return build


CAPABILITY = (8, 0)  # the traces hold workspaces of 8.1 MiB, those of a GPU before Hopper
RUNS = {
    "training, FP32": ({"config": MEDIUM}, 1),
    "forward, autocast to BF16": (
        {"config": XL, "forward_only": True, "autocast": torch.bfloat16},
        2,
    ),
}


def predicted(run):
    """The prediction of one run."""
    how, steps = RUNS[run]
    return predict_bytes(training(**how), steps, CAPABILITY)
