"""Numbers, numpy arrays and torch tensors become numpy arrays, and results go back as they came."""

from collections.abc import Callable
from typing import Any

import numpy as np

EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")  # of ml_dtypes


def to_numpy(values: Any, integers: bool = False) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    """A float64 array (or one of integers), and the function that gives a result back.

    Raises: TypeError for what isn't numbers of that kind, ValueError for an array or a tensor
    without any.
    """
    is_tensor = type(values).__module__.split(".")[0] == "torch" and hasattr(values, "numel")
    array = _from_tensor(values) if is_tensor else np.asarray(values)
    is_real = array.dtype.kind in "iuf" or array.dtype.name in EXTENDED
    if not (array.dtype.kind in "iu" if integers else is_real):
        wanted = "integer codes are" if integers else "real numbers are"
        raise TypeError(f"{wanted} wanted, not {type(values).__name__} {values!r:.40}")
    if array.size == 0:
        raise ValueError(f"at least one number is wanted; the shape given is {array.shape}")
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        array = array if integers else array.astype(np.float64)
    if is_tensor:
        return array, lambda result: _to_tensor(result, values.device)
    if isinstance(values, np.ndarray):
        return array, lambda result: result
    if array.ndim:
        raise TypeError(f"a number, a numpy array or a torch tensor is wanted, not {values!r:.40}")
    return array, lambda result: result.item()


def _from_tensor(tensor: Any) -> np.ndarray:
    plain = tensor.detach().cpu()
    return (plain.double() if plain.is_floating_point() else plain).numpy()


def _to_tensor(result: np.ndarray, device: Any) -> Any:
    import torch

    if result.dtype == np.uint64:  # codes: torch computes with few unsigned types
        result = result.astype(np.int64)
    return torch.from_numpy(np.ascontiguousarray(result)).to(device)
