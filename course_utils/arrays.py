"""Numbers, numpy arrays and torch tensors, taken and given back as they came."""

from collections.abc import Callable
from typing import Any

import numpy as np

_EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")  # of ml_dtypes


def take(
    values: Any, integers: bool = False, codes: bool = False
) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    """What was given as a numpy array (float64, or integers), and the way back to its kind."""
    wanted = "integer codes" if integers else "real numbers"
    if type(values).__module__.split(".")[0] == "torch":
        import torch

        kinds = not (values.is_complex() or values.dtype == torch.bool)
        if not kinds or (integers and values.is_floating_point()):
            raise TypeError(f"{wanted} are wanted, not a tensor of {values.dtype}")
        plain = values.detach().cpu()
        array = (plain if integers else plain.to(torch.float64)).numpy()
        return array, lambda found: torch.from_numpy(
            np.ascontiguousarray(found.astype(np.int64) if codes else found)
        ).to(values.device)
    array = np.asarray(values)
    if array.dtype.kind not in ("iu" if integers else "iuf") and array.dtype.name not in _EXTENDED:
        raise TypeError(f"{wanted} are wanted, not {type(values).__name__} {values!r:.40}")
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        array = array if integers else array.astype(np.float64)
    if isinstance(values, np.ndarray):
        return array, lambda found: found
    if array.ndim:
        raise TypeError(f"a number, a numpy array or a torch tensor is wanted, not {values!r:.40}")
    return array, lambda found: found.item()
