"""Operators of the fake GPU that keep on CUDA what they keep nowhere else: attention, `gather`."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

HALF = (torch.float16, torch.bfloat16)
LARGEST_FLASH_HEAD = 256


class FakeGpuError(RuntimeError):
    """This torch can't pretend a GPU; the message says what is missing."""


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention by the kernel that CUDA takes: flash for 16 bits, memory-efficient, or plain.

    Source: torch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp (`use_flash_attention`,
    `use_mem_efficient_attention`). cuDNN's, which Hopper prefers, keeps what flash keeps.
    """
    if attn_mask is None and _flash_takes(query, key, value):
        return _flash(query, key, value, dropout_p, is_causal, scale)
    aten: Any = torch.ops.aten
    if not enable_gqa and _efficient_takes(query, key, value):
        needs_grad = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        bias = _as_bias(attn_mask, query)
        return aten._scaled_dot_product_efficient_attention(
            query, key, value, bias, needs_grad, dropout_p, is_causal, scale=scale
        )[0]
    return aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


class _Gather(torch.autograd.Function):
    """`gather`, whose backward pass adds into the zeros it makes, as for tensors with data.

    For fake ones torch adds into a copy: one tensor of the input's size too many. What is kept is
    the same: the input and the index (tools/autograd/derivatives.yaml).
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dim: int, index: Tensor) -> Tensor:
        ctx.save_for_backward(tensor, index)
        ctx.dim = dim
        # what autograd keeps counts as made in the forward pass, with gradients
        with torch.enable_grad(), torch._C._AutoDispatchBelowAutograd():
            return torch.ops.aten.gather(tensor, dim, index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        tensor, index = ctx.saved_tensors
        found = grads[0].new_zeros(tensor.shape).scatter_add_(ctx.dim, index, grads[0])
        return found, None, None


def gather(tensor: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    if not (torch.is_grad_enabled() and tensor.requires_grad):
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.aten.gather(tensor, dim, index)
    if sparse_grad:
        raise FakeGpuError("a sparse gradient of `gather` can't be followed: leave out sparse_grad")
    return _Gather.apply(tensor, dim, index)


def _flash_takes(query: Tensor, key: Tensor, value: Tensor) -> bool:
    size = query.shape[-1]
    fits = query.dim() == 4 and query.dtype in HALF and size <= LARGEST_FLASH_HEAD
    return fits and size == value.shape[-1] and torch.backends.cuda.flash_sdp_enabled()


def _efficient_takes(query: Tensor, key: Tensor, value: Tensor) -> bool:
    multiple = 8 if query.dtype in HALF else 4
    fits = query.dim() == 4 and query.dtype in (*HALF, torch.float32)
    aligned = all(t.shape[-1] % multiple == 0 for t in (query, key, value))
    return fits and aligned and torch.backends.cuda.mem_efficient_sdp_enabled()


def _flash(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float, causal: bool, scale: float | None
) -> Tensor:
    """Flash attention; heads are padded to a multiple of 8 elements and cut again."""
    size = query.shape[-1]
    padded = [F.pad(t, (0, -size % 8)) if size % 8 else t for t in (query, key, value)]
    scale = size**-0.5 if scale is None else scale
    found = torch.ops.aten._scaled_dot_product_flash_attention(
        *padded, dropout_p, causal, scale=scale
    )[0]
    return found[..., :size] if size % 8 else found


def _as_bias(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """What is added to the scores: 0 or minus infinity for a boolean mask."""
    if mask is None:
        return None
    if mask.dtype is torch.bool:
        bias = torch.zeros_like(mask, dtype=query.dtype)
        mask = bias.masked_fill_(mask.logical_not(), float("-inf"))
    return mask.expand(*query.shape[:2], *mask.shape[-2:])
