"""How many bits products of FP32 matrices keep, for as long as a block runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
