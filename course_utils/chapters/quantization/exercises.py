"""Checkers for chapter 8, "Quantization"."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from course_utils.core.running import quiet_import
from course_utils.lesson.answers import against, shown
from course_utils.lesson.exercises import Wrong, exercise

# ---- What the exercises are checked on, and what their checks compare with, torchao's for one.

PRIMITIVES = "torchao.quantization.quant_primitives"
Parts = tuple[Tensor, Tensor, Tensor]  # codes, scales and zero points


def right_affine(x: Tensor, bits: int, group: int) -> Parts:
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


INT32_MAX = 2**31 - 1


@exercise(
    "quant.affine",
    todo="write affine(x, bits, group): codes, scales and zero points.",
    hints=(
        "x.unflatten(-1, (-1, group)) has one group in each row. Which numbers must the grid "
        "contain if the smallest number of a group is 3? If its largest is −3?",
        "scale = (max(largest, 0) − min(smallest, 0)) / (2**bits − 1), and 1 where that is 0. The "
        "zero point is the rounded −min(smallest, 0) / scale. Clamp the codes after adding it.",
    ),
    prepare=import_torchao,
)
def check_affine(affine: Callable[..., Any]) -> str:
    """Eight kinds of groups in 2 to 8 bits: torchao's scales, and errors of at most half a step."""
    for bits in range(2, 9):
        group = random.choice([4, 6, 16])
        kinds = kinds_of_groups(group)
        shape = [(2, 4 * group), (8 * group,), (2, 2, 2 * group)][bits % 3]
        x = torch.cat(list(kinds.values())).reshape(shape)
        want = right_affine(x, bits, group)
        got = _parts(affine(x.clone(), bits, group), want)
        for place, kind in enumerate(kinds):
            parts = [one.reshape(8, -1)[place].double() for one in (x, *got, *want[1:])]
            _check_group(f"{bits} bits, a group of {group} numbers, {kind}", 2**bits - 1, *parts)
    return "eight kinds of groups in 2 to 8 bits: torchao's scales, errors of at most half a step"


def _parts(given: Any, want: Parts) -> Parts:
    if not isinstance(given, tuple | list) or len(given) != 3:
        raise Wrong(f"you return {shown(given)}, want codes, scales and zero points")
    codes, scales, zeros = given
    _require_tensor(codes, want[0].shape, "the codes")
    _require_tensor(scales, want[1].shape, "the scales")
    _require_tensor(zeros, want[2].shape, "the zero points")
    if codes.is_floating_point() or codes.dtype is torch.bool:
        raise Wrong(f"the codes are {codes.dtype}, want a dtype of integers")
    return codes, scales, zeros


def _require_tensor(given: Any, shape: torch.Size | tuple[int, ...], what: str = "") -> None:
    if not isinstance(given, Tensor):
        raise Wrong(f"you return {shown(given)}, want a tensor{what and f' for {what}'}")
    if given.shape != shape:
        raise Wrong(f"{what or 'your result'}: shape {tuple(given.shape)}, want {tuple(shape)}")


def _check_group(
    where: str, top: int, x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor, *want: Tensor
) -> None:
    if not 0 < scale.item() < float("inf"):
        raise Wrong(f"{where}: the scale is {scale.item():g}, and x is divided by it")
    if x.any() and not torch.allclose(scale, want[0], rtol=1e-5, atol=0):
        raise Wrong(
            f"{where}: from {x.min():.4g} to {x.max():.4g}, your scale is {scale.item():.6g}, "
            f"torchao's {want[0].item():.6g}"
        )
    if zero.item() not in range(top + 1):
        raise Wrong(f"{where}: the zero point is {zero.item():g}, want an integer from 0 to {top}")
    low, high = codes.min().item(), codes.max().item()
    if low < 0 or high > top:
        raise Wrong(f"{where}: the codes go from {low:g} to {high:g}, want 0 to {top}")
    error = (scale * (codes - zero) - x).abs()
    worst = int(error.argmax())
    if not error[worst] <= 0.501 * scale:  # ties, and FP32's rounding, are left to the answer
        raise Wrong(
            f"{where}: {x[worst]:.4g} has code {codes[worst]:g}, with scale {scale.item():.4g} and "
            f"zero point {zero.item():g} that is {scale.item() * (codes[worst] - zero.item()):.4g}:"
            f" off by {error[worst] / scale.item():.2f} steps, want at most half a step (torchao's "
            f"zero point is {want[1].item():g})"
        )


@exercise(
    "quant.int8_linear",
    todo="write int8_linear(x, codes, scales, bias), with torch._int_mm.",
    hints=(
        "Each row of x has its own scale, x.abs().amax(1, keepdim=True) / 127. The matrix of the "
        "weights is codes.T; one scale of a row and one of a column belong to each sum.",
        "A product is at most 127 · 128, where a weight's code is −128. How many of them fit in "
        "2**31 − 1?",
    ),
)
def check_int8_linear(int8_linear: Callable[..., Any]) -> str:
    """Tokens of very different sizes against float64, and the longest sum that INT32 holds."""
    longest = INT32_MAX // (127 * 128)
    for tokens, k, n in ((17, 64, 24), (24, 8 * random.randint(1, 40), 16), (2, longest, 3)):
        x_codes = torch.randint(-126, 127, (tokens, k)).float()
        codes = torch.randint(-128, 128, (n, k), dtype=torch.int8)
        noise = torch.empty(tokens, k).uniform_(-0.4, 0.4)  # no ties
        noise[:, 0], x_codes[:, 0] = 0, 127 * random.choice([-1, 1])
        if k == longest:
            x_codes[0], codes[0], noise[0] = -127, -128, 0
        steps = 10.0 ** torch.empty(tokens, 1).uniform_(-4, 1)
        steps[-1] = 0
        x, scales, bias = (x_codes + noise) * steps, torch.rand(n) + 0.1, torch.randn(n)
        products = (x_codes.double() @ codes.double().T) * steps * scales
        given = x.clone(), codes, scales, bias
        _check_outputs(_watched(int8_linear, given, k, longest), steps, products, bias)
    k = longest + 1
    try:
        int8_linear(torch.ones(2, k), torch.ones(3, k).to(torch.int8), torch.ones(3), torch.ones(3))
    except ValueError:
        return "tokens of all sizes, one of zeros, and the longest sum that INT32 is sure to hold"
    raise Wrong(
        f"K = {k:,} was taken, and the sum may be {k:,} · 127 · 128 = {k * 127 * 128:,}, over "
        f"INT32's {INT32_MAX:,}: raise a ValueError"
    )


def _watched(answer: Callable[..., Any], given: tuple[Tensor, ...], k: int, longest: int) -> Any:
    """The answer's result; Wrong if it never called `torch._int_mm`, or refused the longest K."""
    with mock.patch.object(torch, "_int_mm", wraps=torch._int_mm) as product:
        try:
            result = answer(*given)
        except ValueError as error:
            if k < longest:
                raise
            raise Wrong(
                f"K = {k:,} gave a ValueError ({error}), and no sum is over {k:,} · 127 · 128 = "
                f"{k * 127 * 128:,}, which INT32 holds (up to {INT32_MAX:,})"
            ) from None
    _require_tensor(result, (len(given[0]), len(given[3])))
    if not product.called:
        raise Wrong("torch._int_mm was never called: the product must be one of integers")
    return result


def _check_outputs(got: Tensor, steps: Tensor, products: Tensor, bias: Tensor) -> None:
    wrong = ~((got - products - bias).abs() <= 1e-5 * (products.abs() + bias.abs()))
    if wrong.any():
        row, column = wrong.nonzero()[0].tolist()
        kind = f"the largest |x| is {127 * steps[row].item():.4g}" if steps[row] else "all zeros"
        raise Wrong(
            f"token {row} ({kind}), output {column}: you gave {got[row, column]:.7g}, want "
            f"{products[row, column] + bias[column]:.7g}, the bias of {bias[column]:.4g} included "
            f"({int(wrong.any(1).sum())} of {len(wrong)} tokens differ)"
        )


@exercise(
    "quant.cache_bytes",
    todo="write cache_bytes(layers, kv_heads, head_dim, tokens, bits, group).",
    hints=(
        "Keys and values: 2 · layers · kv_heads · tokens vectors of head_dim numbers. How many "
        "groups has each of them?",
        "A vector has ceil(head_dim / group) groups, with a scale and a zero point of 2 bytes.",
    ),
)
def check_cache_bytes(cache_bytes: Callable[..., Any]) -> str:
    """Against the storages of small caches that are made, quantised and packed."""
    dims = [(16, 8), (32, 32), (64, 16), (40, 16), (80, 32), (24, 64)]  # the last three: a rest
    cases = [
        (random.randint(1, 3), random.randint(1, 4), head_dim, random.randint(5, 30), bits, group)
        for bits in (2, 3, 4, 8, 16)
        for head_dim, group in random.sample(dims[:3], 1) + random.sample(dims[3:], 1)
    ]

    def why(*case: int) -> str:
        made = made_cache(*case)
        return f" ({', '.join(f'{name} {n:,}' for name, n in made.items())})"

    against(cache_bytes, made_cache_bytes, cases, why=why)
    return "caches that were made, in 2, 3, 4, 8 and 16 bits: bytes of their storages"
