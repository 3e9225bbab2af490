"""Watches what results don't show: gradients on their way, and the precision of matmuls."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn


@contextmanager
def at_precision(products: Any, setting: str) -> Iterator[None]:
    """Inside the block `products.fp32_precision` is `setting`; after it, what it was before.

    `products` is `torch.backends.cuda.matmul` or `torch.backends.mkldnn.matmul`.
    Raises: what torch raises for a setting that a device doesn't know.
    """
    before = products.fp32_precision
    products.fp32_precision = setting
    try:
        yield
    finally:
        products.fp32_precision = before


def activation_gradients(model: nn.Module, loss: Callable[[], Tensor]) -> Tensor:
    """Returns the gradients of the outputs of all linear layers of a model, as one flat tensor.

    `loss()` runs the model's forward; its backward runs here, in the model's own dtype.
    """
    found: list[Tensor] = []

    def note(_layer: nn.Module, _to_input: Any, to_output: Any) -> None:
        found.append(to_output[0].flatten())

    with ExitStack() as hooks:
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                hooks.enter_context(layer.register_full_backward_hook(note))
        loss().backward()
    return torch.cat(found)
