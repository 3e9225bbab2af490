"""What the exercises are checked on, and what their checks compare with, torchao's for one."""

import random
from contextlib import suppress

import torch
from torch import Tensor

from course_utils.core.running import quiet_import

PRIMITIVES = "torchao.quantization.quant_primitives"
Parts = tuple[Tensor, Tensor, Tensor]  # codes, scales and zero points


def affine(x: Tensor, bits: int, group: int) -> Parts:
    """Returns torchao's codes, scales and zero points, or ours where it can't be imported."""
    try:
        return by_torchao(x, bits, group)
    except ImportError:
        return by_hand(x, bits, group)


def by_torchao(x: Tensor, bits: int, group: int) -> Parts:
    """Returns torchao's codes, scales and zero points of each group of the last dimension.

    Raises: ImportError where torchao can't be imported.
    """
    torchao = quiet_import(PRIMITIVES)
    block = (*[1] * (x.ndim - 1), group)
    ends = {"quant_min": 0, "quant_max": 2**bits - 1}
    scales, zeros = torchao.choose_qparams_affine(
        x, torchao.MappingType.ASYMMETRIC, block, torch.uint8, **ends
    )
    codes = torchao.quantize_affine(x, block, scales, zeros, torch.uint8, **ends)
    shape = (*x.shape[:-1], -1)  # torchao leaves the last dimension out if it is one group
    return codes, scales.reshape(shape), zeros.reshape(shape)


def by_hand(x: Tensor, bits: int, group: int) -> Parts:
    """Returns what `by_torchao` does, without torchao; a group of zeros has the scale 1."""
    groups, top = x.unflatten(-1, (-1, group)), 2**bits - 1
    least = groups.amin(-1, keepdim=True).clamp(max=0)
    scales = (groups.amax(-1, keepdim=True).clamp(min=0) - least) / top
    scales[scales == 0] = 1
    zeros = (-least / scales).round()
    codes = ((groups / scales).round() + zeros).clamp(max=top).to(torch.uint8)
    return codes.flatten(-2), scales.squeeze(-1), zeros.squeeze(-1).to(torch.uint8)


def import_torchao() -> None:
    """Imports what `by_torchao` needs, where it can be imported."""
    with suppress(ImportError):
        quiet_import(PRIMITIVES)


def kinds_of_groups(group: int) -> dict[str, Tensor]:
    """Draws `group` numbers of each of eight kinds, at one random scale."""
    numbers = torch.randn(8, group) * 10 ** random.uniform(-2, 2)
    size, sign = numbers.abs().amax(1), random.choice([-1, 1])
    numbers[6, random.randrange(group)] = sign * 100 * size[6]
    numbers[7, :2] = size[7] * torch.tensor([sign, -sign])
    numbers[1, 0] = -size[1]  # so that a ReLU makes at least one zero
    return {
        "all 0": 0 * numbers[0],
        "after a ReLU": numbers[1].relu(),
        "all positive": numbers[2].abs() + 2 * size[2],
        "all negative": -numbers[3].abs() - 2 * size[3],
        "drawn": numbers[4],
        "drawn with an offset": numbers[5] + size[5] / 3,
        "with one outlier": numbers[6],
        "with its largest number as far from 0 as its smallest": numbers[7],
    }


def lists_of_codes() -> list[Tensor]:
    """Draws lists of 4-bit codes in INT8: short ones, and all pairs, in even and odd counts."""
    pairs = torch.cartesian_prod(*[torch.arange(-8, 8, dtype=torch.int8)] * 2)
    drawn = [torch.randint(-8, 8, (n,), dtype=torch.int8) for n in (2, 1, 5)]
    return [*drawn, pairs[torch.randperm(256)].flatten(), pairs.flatten()[:511]]


def packed(codes: Tensor) -> Tensor:
    """Returns two codes a byte, the first in the low four bits; a missing last one is 0."""
    halves = [code % 16 for code in codes.tolist()] + [0] * (len(codes) % 2)
    pairs = zip(halves[::2], halves[1::2], strict=True)
    return torch.tensor([low + 16 * high for low, high in pairs], dtype=torch.uint8)


def made_cache_bytes(
    layers: int, kv_heads: int, head_dim: int, tokens: int, bits: int, group: int
) -> int:
    """Bytes of all storages of a cache that `made_cache` makes."""
    return sum(made_cache(layers, kv_heads, head_dim, tokens, bits, group).values())


def made_cache(
    layers: int, kv_heads: int, head_dim: int, tokens: int, bits: int, group: int
) -> dict[str, int]:
    """Makes keys and values, quantises and packs them, and counts the bytes of each storage."""
    cache = torch.randn(2, layers, kv_heads, tokens, head_dim, dtype=torch.bfloat16)
    kept = {"numbers": cache}
    if bits < 16:
        parts = [by_hand(x, bits, x.shape[-1]) for x in cache.float().split(group, dim=-1)]
        codes, scales, zeros = (torch.cat(one, dim=-1) for one in zip(*parts, strict=True))
        ones = (codes.unsqueeze(-1) >> torch.arange(bits, dtype=torch.uint8)) & 1
        in_bytes = (ones.reshape(-1, 8) << torch.arange(8, dtype=torch.uint8)).sum(1)
        kept = {"codes": in_bytes.to(torch.uint8), "scales": scales.bfloat16()}
        kept["zero points"] = zeros.bfloat16()
    return {name: one.untyped_storage().nbytes() for name, one in kept.items()}
