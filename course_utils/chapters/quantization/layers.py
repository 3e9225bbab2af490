"""A model's linear layers, what goes into them, and torchao, whose results stand beside ours."""

import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

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


def fbgemm(weight: Tensor) -> nn.Module | None:
    """Returns a layer without bias in INT8 by FBGEMM: weights per tensor, activations at each call.

    Returns None for a build of torch without FBGEMM. torch warns that its quantised tensors are
    deprecated; the kernels are what a page compares with.
    """
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        return None
    with warnings.catch_warnings(action="ignore"):
        scale = weight.detach().abs().max().item() / 127
        codes = torch.quantize_per_tensor(weight.detach(), scale, 0, torch.qint8)
        packed = torch.ops.quantized.linear_prepack(codes, None)

    class Packed(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return torch.ops.quantized.linear_dynamic(x, packed)

    return Packed()


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
