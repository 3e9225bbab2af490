"""Numbers, numpy arrays and torch tensors become numpy arrays, and results go back as they came."""

from collections.abc import Callable
from typing import Any

import numpy as np

EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")  # of ml_dtypes


def to_numpy(values: Any, integers: bool = False) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    """A float64 array (or one of integers), and the function that gives a result back.

    Raises: TypeError for what isn't numbers of that kind, ValueError for an array or a tensor
    without any, and for numbers that no float64 holds, since they would be rounded twice.
    """
    is_tensor = type(values).__module__.split(".")[0] == "torch" and hasattr(values, "numel")
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("a masked array would lose its mask: give x.filled(…) or x.compressed()")
    if isinstance(values, int) and not isinstance(values, bool) and not integers:
        return _exact(np.asarray(values, dtype=object)), lambda result: result.item()
    array = _from_tensor(values) if is_tensor else np.asarray(values)
    is_real = array.dtype.kind in "iuf" or array.dtype.name in EXTENDED
    if not (array.dtype.kind in "iu" if integers else is_real):
        wanted = "integer codes are" if integers else "real numbers are"
        raise TypeError(f"{wanted} wanted, not {type(values).__name__} {values!r:.40}")
    if array.size == 0:
        raise ValueError(f"at least one number is wanted; the shape given is {array.shape}")
    array = array if integers else _exact(array)
    if is_tensor:
        return array, lambda result: _to_tensor(result, values.device)
    if isinstance(values, np.ndarray):
        return array, lambda result: result
    if array.ndim:
        want = "a number, a numpy array or a torch tensor is wanted (np.array(…) makes one)"
        raise TypeError(f"{want}, not {values!r:.40}")
    return array, lambda result: result.item()


def _exact(array: np.ndarray) -> np.ndarray:
    """As float64. Raises: ValueError for a number that isn't one."""
    with np.errstate(invalid="ignore", over="ignore"):  # a signalling NaN becomes a quiet one
        try:
            close = array.astype(np.float64)
        except OverflowError:
            raise _no_float64(array.flat[0]) from None
    if array.dtype.kind == "O" or (array.dtype.kind in "iu" and (np.abs(close) > 2**53).any()):
        pairs = zip(array.flat, close.flat, strict=True)
        lost = [exact for exact, near in pairs if int(exact) != int(near)]
    elif array.dtype.kind == "f" and array.dtype.itemsize > 8:
        lost = list(array[(close.astype(array.dtype) != array) & ~np.isnan(array)])
    else:
        return close
    if lost:
        raise _no_float64(lost[0])
    return close


def _no_float64(number: Any) -> ValueError:
    return ValueError(
        f"{number!s:.30} is no float64, so it would be rounded twice: "
        "give float(x), or type it in the BitExplorer, which takes any number exactly"
    )


def _from_tensor(tensor: Any) -> np.ndarray:
    plain = tensor.detach().cpu()
    return (plain.double() if plain.is_floating_point() else plain).numpy()


def _to_tensor(result: np.ndarray, device: Any) -> Any:
    import torch

    result = np.asarray(result, order="C")
    if result.dtype == np.uint64:  # codes: torch computes with few unsigned types
        result = result.astype(np.int64)
    return torch.from_numpy(result).to(device)
