"""A model's linear layers, what goes into them, and torchao, whose results stand beside ours."""

from collections.abc import Iterable
from types import ModuleType

import torch
from torch import Tensor, nn

from course_utils.core.running import quiet_import

COLOURS = ("#0072B2", "#C77700", "#882255", "#117733")
DASHES = ("-", "--", "-.", ":")
Looks = dict[str, dict[str, str]]


def torchao() -> ModuleType | None:
    """Imports `torchao.quantization`; without it prints what the page leaves out, returns None."""
    try:
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

    def note(name: str) -> object:
        return lambda _layer, given: found.__setitem__(name, given[0].flatten(0, -2))

    hooks = [one.register_forward_pre_hook(note(name)) for name, one in named_linears(model).items()]
    try:
        model(lines[:, :-1])
    finally:
        for hook in hooks:
            hook.remove()
    return found


def looks(labels: Iterable[str], marker: str = "o") -> Looks:
    """Returns how a figure draws its lines: colours that differ, and a marker at each point."""
    return {
        label: {"color": colour, "marker": marker, "linestyle": dash}
        for label, colour, dash in zip(labels, COLOURS, DASHES, strict=False)
    }


def looks_by_method() -> Looks:
    """Returns how section 5 draws its lines: a colour for each method, dashes for what it is of."""
    colours = {"RTN": "#777777", "GPTQ": "#0072B2"}
    dashes = {"output": "-", "weights": ":", "white inputs": "--"}
    return {
        f"{what}, {method}": {"color": colour, "linestyle": dash, "marker": "o"}
        for what, dash in dashes.items()
        for method, colour in colours.items()
    }
