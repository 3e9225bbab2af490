"""Numbers, numpy arrays and torch tensors, taken and given back as they came."""

from collections.abc import Callable
from typing import Any

import numpy as np

EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")  # of ml_dtypes
Taken = tuple[np.ndarray, Callable[[np.ndarray], Any]]


def take(values: Any, integers: bool = False, codes: bool = False) -> Taken:
    """What was given as a numpy array (float64, or integers), and the way back to its kind.

    `codes` says that integers go back. Raises: TypeError for what isn't numbers of that kind,
    ValueError for an array or a tensor without any.
    """
    wanted = "integer codes are" if integers else "real numbers are"
    if type(values).__module__.split(".")[0] == "torch" and hasattr(values, "numel"):
        taken = _take_tensor(values, wanted, integers, codes)
    else:
        taken = _take_array(values, wanted, integers)
    if taken[0].size == 0:
        raise ValueError(f"at least one number is wanted; the shape given is {taken[0].shape}")
    return taken


def _take_array(values: Any, wanted: str, integers: bool) -> Taken:
    array = np.asarray(values)
    if array.dtype.kind not in ("iu" if integers else "iuf") and array.dtype.name not in EXTENDED:
        raise TypeError(f"{wanted} wanted, not {type(values).__name__} {values!r:.40}")
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        array = array if integers else array.astype(np.float64)
    if isinstance(values, np.ndarray):
        return array, lambda found: found
    if array.ndim:
        raise TypeError(f"a number, a numpy array or a torch tensor is wanted, not {values!r:.40}")
    return array, lambda found: found.item()


def _take_tensor(values: Any, wanted: str, integers: bool, codes: bool) -> Taken:
    import torch

    real = not (values.is_complex() or values.dtype == torch.bool)
    if not real or (integers and values.is_floating_point()):
        raise TypeError(f"{wanted} wanted, not a tensor of {values.dtype}")
    plain = values.detach().cpu()
    array = (plain if integers else plain.to(torch.float64)).numpy()

    def give_back(found: np.ndarray) -> torch.Tensor:
        found = np.ascontiguousarray(found.astype(np.int64) if codes else found)
        return torch.from_numpy(found).to(values.device)

    return array, give_back
