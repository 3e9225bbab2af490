"""Makes `from d2l import torch as d2l` work as in the book, after a call of `welcome`.

d2l imports torchvision, whose wheel is built for a CUDA torch: on a CPU build its two custom
operators are missing, and its import fails. So they are declared first, if they are missing.
Warnings about d2l's use of old interfaces are suppressed.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

HOW_TO_INSTALL = (
    "d2l isn't installed (or not whole), so its part is skipped; the rest of the chapter runs. "
    "To have it: pip install --no-deps -r requirements.txt"
)
_kept_alive: list[Any] = []


def welcome() -> None:
    """Lets d2l be imported from now on; imports nothing itself.

    If d2l isn't installed, or can't be loaded, its import raises an ImportError that says how to
    install it.
    """
    if not any(isinstance(finder, _Host) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Host())


class _Host(MetaPathFinder):
    """Finds d2l, declares the operators that it lacks, and runs it without its warnings."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in ("d2l", "d2l.torch"):
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next(filter(None, specs), None)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(HOW_TO_INSTALL, name=name)
        run = spec.loader.exec_module

        def run_quietly(module: ModuleType) -> None:
            try:
                with warnings.catch_warnings(action="ignore"):
                    declare_torchvision_operators()
                    run(module)
            except Exception as problem:  # an extension for another numpy or torch raises anything
                raise ImportError(f"{HOW_TO_INSTALL} ({problem})", name=name) from problem

        spec.loader.exec_module = run_quietly  # type: ignore[method-assign]
        return spec


def declare_torchvision_operators() -> None:
    """Declares torchvision::nms and ::qnms without a kernel, if torchvision can't do it itself."""
    import torch

    if torch.version.cuda or torch.version.hip or "torchvision" in sys.modules:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept_alive.append(library)  # a library that is collected takes its operators with it
