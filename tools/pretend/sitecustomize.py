"""Pretends GPUs in every Python process that has this folder on PYTHONPATH and PRETEND_GPU set.

PRETEND_GPU is their number; PRETEND_GPU_NAME one of `pretended.GPUS` (an H200 without it). torch is
changed as soon as it is imported, the course's clock and claims too.
"""

import importlib.abc
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

CHANGED = {
    "torch": "change_torch",
    "course_utils.core.timing": "hurry",
    "course_utils.core.claims": "let_claims_fail",
    "course_utils.chapters.collectives.by_hand": "call_once",
    "course_utils.chapters.data_parallelism.real_steps": "step_once",
    "course_utils.workloads.recipes": "let_losses_be_anything",
    "course_utils.core.recording": "take_few_cases",
}


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of CHANGED where they are, and has them changed after they ran."""

    def __init__(self) -> None:
        self.looking = False

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in CHANGED or self.looking:
            return None
        self.looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looking = False
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_change(module: ModuleType) -> None:
            run(module)
            import pretended

            getattr(pretended, CHANGED[name])(module)

        spec.loader.exec_module = run_and_change  # type: ignore[method-assign]
        return spec


if os.environ.get("PRETEND_GPU"):
    os.environ.setdefault("PYTORCH_JIT", "0")  # TorchScript reads functions, and not changed ones
    sys.meta_path.insert(0, Finder())
