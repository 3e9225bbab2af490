"""Right answers to chapter 8's exercises, in other ways than the worked solutions."""

import numpy as np
import torch

from course_utils.chapters.quantization.exercises import by_hand, by_torchao
from tests.support.patches import changed


def affine_by_loop(x, bits, group):
    top, rows = 2**bits - 1, x.reshape(-1, group)
    codes, scales, zeros = torch.zeros(rows.shape, dtype=torch.long), [], []
    for row, out in zip(rows.double(), codes, strict=True):
        low, high = min(0.0, row.min().item()), max(0.0, row.max().item())
        scales.append((high - low) / top or 1e-9)
        zeros.append(round(-low / scales[-1]))
        out.copy_(torch.floor(row / scales[-1] + zeros[-1] + 0.5).clamp(0, top))
    shape = (*x.shape[:-1], -1)
    return [
        codes.reshape(x.shape),
        torch.tensor(scales).reshape(shape),
        torch.tensor(zeros).reshape(shape),
    ]


def linear_the_other_way_round(x, codes, scales, bias):
    if x.shape[-1] > 132_104:
        raise ValueError(f"K = {x.shape[-1]}")
    largest = x.abs().max(dim=1).values
    times = 127 / torch.where(largest > 0, largest, torch.ones(()))
    x_codes = torch.clamp(torch.round(x * times[:, None]), -128, 127).to(torch.int8)
    sums = torch._int_mm(codes, x_codes.T.contiguous()).T
    return torch.addcmul(bias, sums.float() / times[:, None], scales)


def linear_on_padded_tokens(x, codes, scales, bias):
    if x.shape[1] * 127 * 128 > torch.iinfo(torch.int32).max:
        raise ValueError("too long")
    padded = torch.cat([x, x.new_zeros(32, x.shape[1])])
    steps = padded.abs().amax(1) / 127 + 1e-38
    sums = torch._int_mm((padded / steps[:, None]).round().char(), codes.t())[: len(x)]
    return sums.double() * torch.outer(steps[: len(x)], scales) + bias


def pack_with_slices(codes):
    packed = codes[0::2].bitwise_and(15).to(torch.uint8)
    packed[: len(codes) // 2] |= codes[1::2].to(torch.uint8) << 4
    return packed


def pack_in_numpy(codes):
    halves = np.append(codes.numpy(), [0] * (len(codes) % 2)).astype(np.int64) % 16
    return torch.from_numpy((halves[::2] + 16 * halves[1::2]).astype(np.uint8))


def unpack_by_shifts(packed, n):
    signed = packed.view(torch.int8)
    return torch.stack([(signed << 4) >> 4, signed >> 4], 1).reshape(-1)[:n]


def unpack_by_table(packed, n):
    table = torch.tensor([*range(8), *range(-8, 0)], dtype=torch.int8)
    codes = torch.empty(2 * len(packed), dtype=torch.int8)
    codes[::2], codes[1::2] = table[(packed % 16).long()], table[(packed // 16).long()]
    return codes[:n]


def bytes_from_bits(layers, kv_heads, head_dim, tokens, bits, group):
    groups = 0 if bits == 16 else len(range(0, head_dim, group))
    return layers * tokens * 2 * kv_heads * (head_dim * bits + groups * (16 + 16)) / 8


RIGHT = {
    "quant.affine": [by_torchao, by_hand, affine_by_loop],
    "quant.int8_linear": [
        linear_the_other_way_round,
        linear_on_padded_tokens,
        *changed("quant.int8_linear", without_a_guard={".clamp(min=1e-30)": ""}),
    ],
    "quant.pack": [pack_with_slices, pack_in_numpy],
    "quant.unpack": [unpack_by_shifts, unpack_by_table],
    "quant.cache_bytes": [bytes_from_bits],
}
