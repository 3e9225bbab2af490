"""What results don't show: reads from the device, gradients on their way, products' precision."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn


@contextmanager
def reads() -> Iterator[list[Tensor]]:
    """Inside the block, each tensor whose `.item()` is called is added to the list it gives.

    On a GPU each of them is a wait. `float(tensor)` and the like aren't seen.
    """
    seen: list[Tensor] = []
    item = torch.Tensor.item

    def noted(tensor: Tensor) -> object:
        seen.append(tensor)
        return item(tensor)

    with mock.patch.object(torch.Tensor, "item", noted):
        yield seen


def waits(work: Callable[[], object]) -> bool:
    """Whether CUDA waited for the device in `work()`, by torch's own watch; at once, at the first.

    Raises: RuntimeError for other errors of `work`.
    """
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        work()
    except RuntimeError as error:
        if "synchronizing CUDA operation" not in str(error):
            raise
        return True
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return False


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
    """The gradients that flow back into the model's linear layers' outputs, in a row.

    `loss()` runs the model's forward; its backward runs here, in the model's own dtype.
    """
    found: list[Tensor] = []

    def note(_layer: nn.Module, _to_input: Any, to_output: Any) -> None:
        found.append(to_output[0].flatten())

    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    hooks = [layer.register_full_backward_hook(note) for layer in layers]
    try:
        loss().backward()
    finally:
        for hook in hooks:
            hook.remove()
    return torch.cat(found)
