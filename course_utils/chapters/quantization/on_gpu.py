"""A linear layer of a large model on a GPU, in BF16 and as torchao quantises it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from course_utils.chapters.quantization.layers import torchao
from course_utils.core.machine import device

INPUTS, OUTPUTS = 4096, 14336  # the first layer of the MLP of Llama-3.1-8B
Config = Callable[[Any], Any]
CONFIGS: dict[str, tuple[tuple[int, int], Config]] = {  # (capability, config of torchao)
    "INT8 weights": ((8, 0), lambda ao: ao.Int8WeightOnlyConfig()),
    "INT8 both": ((8, 0), lambda ao: ao.Int8DynamicActivationInt8WeightConfig()),
    "FP8 both": (
        (8, 9),
        lambda ao: ao.Float8DynamicActivationFloat8WeightConfig(granularity=ao.PerRow()),
    ),
    "INT4 weights": (
        (8, 0),
        lambda ao: ao.Int4WeightOnlyConfig(
            group_size=128, int4_packing_format="tile_packed_to_4d"
        ),
    ),
}


def formats_on_gpu() -> list[str]:
    """Returns the formats that this machine's GPU and torchao can run; none without a GPU."""
    if device().type != "cuda" or torch.cuda.get_device_capability() < (8, 0):
        return []
    able = torch.cuda.get_device_capability()
    return ["BF16", *(name for name, (least, _) in CONFIGS.items() if torchao() and able >= least)]


def linear_on_gpu(name: str) -> nn.Module:
    """Returns a linear layer of 4,096 to 14,336 in a format of `formats_on_gpu`, not compiled."""
    layer = nn.Sequential(nn.Linear(INPUTS, OUTPUTS, bias=False))
    layer = layer.to(device(), torch.bfloat16)
    if name in CONFIGS:
        ao = torchao()
        assert ao is not None
        ao.quantize_(layer, CONFIGS[name][1](ao))
    return layer
