"""A Llama as torch's operators on CUDA make it: RMSNorm, rotated positions, grouped keys, SwiGLU.

The fake GPU takes `F.rms_norm` and SiLU's backward apart into many operators. CUDA has kernels: the
norm's keeps its input and one number a token (aten `_fused_rms_norm`), SiLU's its input. The two
here are written to keep those; on fake tensors they compute nothing.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight, x.new_ones(x.shape[:-1]))
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, grad):
        x, weight, _ = ctx.saved_tensors
        return torch.empty_like(x), torch.empty_like(weight)


class SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, grad):
        return torch.empty_like(grad)


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return Norm.apply(x, self.weight)


class NormInPython(RMSNorm):
    """As Hugging Face's code has it (transformers 5.24, `LlamaRMSNorm`), operator by operator."""

    def forward(self, x):
        full = x.to(torch.float32)
        full = full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * full.to(x.dtype)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.size = c.width // c.heads
        self.q, self.out = (nn.Linear(c.width, c.width, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(c.width, c.kv_width, bias=False) for _ in range(2))
        angles = torch.outer(torch.arange(c.context), 1e4 ** -torch.arange(0, 1, 2 / self.size))
        self.register_buffer("turn", torch.stack((angles.cos(), angles.sin())))

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (-1, self.size)) for layer in (self.q, self.k, self.v))
        q, k, v = (y.transpose(1, 2) for y in (self.turned(q), self.turned(k), v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def turned(self, x):
        first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = self.turn.to(x.dtype)[:, :, None]
        return torch.stack((cos * first - sin * second, sin * first + cos * second), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        norm = NormInPython if c.norm == "rms in Python" else RMSNorm
        self.norm_1, self.norm_2 = norm(c.width), norm(c.width)
        self.attention = Attention(c)
        self.gate, self.up = (nn.Linear(c.width, c.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(c.hidden, c.width, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        y = self.norm_2(x)
        return x + self.down(SiLU.apply(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """A model of a `model_shapes.Shape`, to be run by `planned_steps`."""

    def __init__(self, c):
        super().__init__()
        self.tokens = nn.Embedding(c.vocabulary, c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = RMSNorm(c.width)
        self.head = self.tokens if c.tied else nn.Linear(c.width, c.vocabulary, bias=False)
