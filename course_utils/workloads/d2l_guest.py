"""Libraries that need care to load. d2l is a guest: used where the course compares with it."""

import sys
import warnings
from types import ModuleType
from typing import Any

HOW_TO_INSTALL = (
    "d2l isn't installed (or not whole), so its part is skipped; the rest of the chapter runs. "
    "To have it: pip install --no-deps -r requirements.txt"
)
_kept_alive: list[Any] = []


def load_d2l() -> ModuleType | None:
    """The module d2l.torch, which takes seconds to load; None, and one sentence, without it.

    torchvision's wheel is built for a CUDA torch: on a CPU build its two custom operators are
    missing, and its import fails on them. They are declared first, where they are missing.
    """
    already = sys.modules.get("d2l.torch")
    if already is not None:
        return already
    _declare_torchvision_operators()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # d2l's own use of old interfaces isn't ours to mend
            from d2l import torch as d2l
    except Exception as problem:  # an extension built for another numpy or torch raises anything
        print(HOW_TO_INSTALL if _absent("d2l") else f"{HOW_TO_INSTALL} ({problem})")
        return None
    return d2l


def _absent(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is None


def _declare_torchvision_operators() -> None:
    """Declares torchvision::nms and ::qnms without a kernel, where torchvision can't itself."""
    import torch

    if torch.version.cuda or torch.version.hip or "torchvision" in sys.modules:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept_alive.append(library)  # a library that is collected takes its operators with it
