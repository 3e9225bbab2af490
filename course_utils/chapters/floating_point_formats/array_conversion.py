"""Numbers, numpy arrays and torch tensors become numpy arrays, and results go back as they came."""

from collections.abc import Callable
from typing import Any

import numpy as np

EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")  # of ml_dtypes
Converted = tuple[np.ndarray, Callable[[np.ndarray], Any]]


def to_numpy(values: Any, integers: bool = False) -> Converted:
    """A float64 array (or one of integers), and the function that gives a result back.

    Raises: TypeError for what isn't numbers of that kind, ValueError for an array or a tensor
    without any.
    """
    wanted = "integer codes are" if integers else "real numbers are"
    if type(values).__module__.split(".")[0] == "torch" and hasattr(values, "numel"):
        converted = _from_tensor(values, wanted, integers)
    else:
        converted = _from_array(values, wanted, integers)
    if converted[0].size == 0:
        raise ValueError(f"at least one number is wanted; the shape given is {converted[0].shape}")
    return converted


def _from_array(values: Any, wanted: str, integers: bool) -> Converted:
    array = np.asarray(values)
    if array.dtype.kind not in ("iu" if integers else "iuf") and array.dtype.name not in EXTENDED:
        raise TypeError(f"{wanted} wanted, not {type(values).__name__} {values!r:.40}")
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        array = array if integers else array.astype(np.float64)
    if isinstance(values, np.ndarray):
        return array, lambda result: result
    if array.ndim:
        raise TypeError(f"a number, a numpy array or a torch tensor is wanted, not {values!r:.40}")
    return array, lambda result: result.item()


def _from_tensor(values: Any, wanted: str, integers: bool) -> Converted:
    import torch

    real = not (values.is_complex() or values.dtype == torch.bool)
    if not real or (integers and values.is_floating_point()):
        raise TypeError(f"{wanted} wanted, not a tensor of {values.dtype}")
    plain = values.detach().cpu()
    array = (plain if integers else plain.to(torch.float64)).numpy()

    def give_back(result: np.ndarray) -> torch.Tensor:
        if result.dtype == np.uint64:  # codes: torch computes with few unsigned types
            result = result.astype(np.int64)
        return torch.from_numpy(np.ascontiguousarray(result)).to(values.device)

    return array, give_back
