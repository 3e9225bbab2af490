"""d2l is a guest: after `welcome`, `from d2l import torch as d2l` works as its book writes it.

torchvision's wheel, which d2l imports, is built for a CUDA torch: on a CPU build its two custom
operators are missing, and its import fails on them. They are declared first, where they are
missing. d2l's own use of old interfaces isn't ours to mend: its warnings are left out.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

HOW_TO_INSTALL = (
    "d2l isn't installed (or not whole), so its part is skipped; the rest of the chapter runs. "
    "To have it: pip install --no-deps -r requirements.txt"
)
_kept_alive: list[Any] = []


def welcome() -> None:
    """From now on d2l can be imported, which takes seconds; until somebody does, nothing happens.

    Where it isn't installed, or can't be loaded, its import raises an ImportError that says what
    to do.
    """
    if not any(isinstance(finder, _Host) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Host())
        sys.meta_path.append(_Doorkeeper())


class _Host(MetaPathFinder):
    """Finds d2l where it is, and runs it with what it needs."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in ("d2l", "d2l.torch"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_quietly(module: ModuleType) -> None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    declare_torchvision_operators()
                    run(module)
            except Exception as problem:  # an extension for another numpy or torch raises anything
                raise ImportError(f"{HOW_TO_INSTALL} ({problem})", name=name) from problem

        spec.loader.exec_module = run_quietly  # type: ignore[method-assign]
        return spec


class _Doorkeeper(MetaPathFinder):
    """Comes after every other finder, and says what to do about a d2l that none of them found."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in ("d2l", "d2l.torch"):
            raise ModuleNotFoundError(HOW_TO_INSTALL, name=name)
        return None


def declare_torchvision_operators() -> None:
    """Declares torchvision::nms and ::qnms without a kernel, where torchvision can't itself."""
    import torch

    if torch.version.cuda or torch.version.hip or "torchvision" in sys.modules:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept_alive.append(library)  # a library that is collected takes its operators with it
