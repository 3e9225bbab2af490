"""Right answers to chapter 8's exercises, in other ways than the worked solutions."""

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
    "quant.cache_bytes": [bytes_from_bits],
}
