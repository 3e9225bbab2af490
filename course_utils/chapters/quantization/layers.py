"""A model's linear layers, what goes into them, and torchao, whose results stand beside ours."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.core.machine import device
from course_utils.core.running import quiet_import

COLOURS = ("#0072B2", "#C77700", "#882255", "#117733", "#555555")
DASHES = ("-", "--", "-.", ":", "-")
Looks = dict[str, dict[str, str]]


def torchao() -> ModuleType | None:
    """Imports `torchao.quantization`; without it prints what the page leaves out, returns None."""
    try:
        quiet_import("torchao.prototype.mx_formats")  # else QAT imports it later, and it warns
        return quiet_import("torchao.quantization")
    except ImportError as error:
        print(f"torchao can't be imported ({error}): this page compares nothing with it here")
        return None


def named_linears(model: nn.Module) -> dict[str, nn.Linear]:
    """Returns a model's linear layers by name; an output layer that shares its weight is none."""
    return {name: one for name, one in model.named_modules() if isinstance(one, nn.Linear)}


@torch.no_grad()
def inputs_of(model: nn.Module, lines: Tensor) -> dict[str, Tensor]:
    """Returns what each linear layer gets when the model reads `lines`: (tokens, inputs) by name.

    The last token of a line is only a target, so the model doesn't read it.
    """
    found: dict[str, Tensor] = {}

    def note(name: str) -> Any:
        return lambda _layer, given: found.__setitem__(name, given[0].flatten(0, -2))

    with ExitStack() as hooks:
        for name, layer in named_linears(model).items():
            hooks.enter_context(layer.register_forward_pre_hook(note(name)))
        model(lines[:, :-1])
    return found


def looks(labels: Iterable[str], marker: str = "o") -> Looks:
    """Returns how a figure draws its lines: colours that differ, and a marker at each point."""
    return {
        label: {"color": colour, "marker": marker, "linestyle": dash}
        for label, colour, dash in zip(labels, COLOURS, DASHES, strict=False)
    }


def dots(labels: Iterable[str]) -> Looks:
    """Returns how a figure draws its points, without lines between them."""
    return {label: look | {"linestyle": ""} for label, look in looks(labels).items()}


# ---- A large linear layer on a GPU, in BF16 and as torchao quantises it.

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
        lambda ao: ao.Int4WeightOnlyConfig(group_size=128, int4_packing_format="tile_packed_to_4d"),
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
    layer = nn.Sequential(nn.Linear(INPUTS, OUTPUTS, bias=False)).to(device(), torch.bfloat16)
    ao = torchao() if name in CONFIGS else None
    if ao:
        ao.quantize_(layer, CONFIGS[name][1](ao))
    return layer
