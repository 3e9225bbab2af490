"""Marks what an unmodified script does: torch's own functions note when they begin and end.

Hooks in torch 2.11 to 2.13: global optimizer hooks, `torch.autograd.backward`, the iterator behind
every DataLoader, hooks on the outermost modules (found in the first steps, so that the later ones
pay for two calls a step, not for two a layer).
"""

import contextlib
import functools
import gc
import os
import sys
import sysconfig
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course_utils.diagnose.records import NOWHERE, Line, Loader, Mark, Optimizer, Seen, Warned

FINDING_ROOTS = 3  # steps in which each module is looked at, to find the outermost
LEAST_STEPS = 6  # before a pass may end for want of time
PATIENCE = 90.0  # seconds from the first mark, for fewer steps than that
WITHOUT_OPTIMIZER = 200  # backward passes, or batches, before they count as steps
LONG_GC = 0.001  # seconds: shorter collections are not marked

clock = time.perf_counter


class Enough(BaseException):
    """Ends the script when enough steps were seen; a script's `except Exception` lets it pass."""


def library_folders() -> tuple[str, ...]:
    """Folders whose code is not the reader's: Python's, the installed packages', this one."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (*paths, *(p for p in sys.path if p.endswith("-packages")), os.path.dirname(__file__))


class Places:
    """Finds the reader's line: the innermost frame outside of libraries."""

    def __init__(self) -> None:
        self.folders = library_folders()
        self.known: dict[str, bool] = {}

    def is_theirs(self, file: str) -> bool:
        if (found := self.known.get(file)) is None:
            found = not file.startswith((*self.folders, "<"))
            self.known[file] = found
        return found

    def line(self, frame: Any) -> Line:
        while frame is not None:
            if self.is_theirs(frame.f_code.co_filename):
                return frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back
        return NOWHERE


class Watch:
    """Marks one run; `remove` gives torch back as it was.

    Stops the script by `Enough` after `steps` steps, or after `seconds` since its first mark.
    """

    def __init__(self, steps: int, seconds: float) -> None:
        self.steps, self.seconds, self.least = steps, seconds, LEAST_STEPS
        self.places = Places()
        self.marks: list[tuple[str, float, float, str, Line, int]] = []
        self.region = "outside"
        self.resident: list[tuple[float, float]] = []
        self.on_gpu: list[float] = []
        self.loaders: dict[str, Loader] = {}
        self.optimizers: dict[int, Any] = {}
        self.warned: list[Warned] = []
        self.roots: dict[int, Any] = {}
        self.after_step: list[Callable[[int], None]] = []
        self.at_forward: list[Callable[[Any, Any], None]] = []
        self.after_forward: list[Callable[[Any, Any], None]] = []
        self.at_backward: list[Callable[[Any], None]] = []
        self.at_end: list[Callable[[], None]] = []
        self.facts: Counter[str] = Counter()
        self.batch_size = 0  # of the first batch that a loader gave
        self._stepped: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._iterators: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._objects: list[Any] = []  # keeps ids from being given twice
        self._undo: list[Callable[[], Any]] = []
        self._depth = 0
        self._forward_from = 0.0
        self._finding: list[Any] = []
        self._first = 0.0
        self._saved = tempfile.TemporaryDirectory(prefix="diagnose-")
        self._files: dict[str, str] = {}
        self._gc_from = self._step_from = self._compile_from = 0.0

    # -- installing

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Puts `make(old)` in the place of an attribute, until `remove`."""
        old = getattr(owner, name)
        own = name in vars(owner)
        setattr(owner, name, make(old))
        self._undo.append(lambda: setattr(owner, name, old) if own else delattr(owner, name))

    def undo(self, call: Callable[[], Any]) -> None:
        """Calls this in `remove`, before what was noted earlier."""
        self._undo.append(call)

    def install(self) -> None:
        """Hooks into torch, which is imported by now."""
        import torch
        from torch.optim import optimizer
        from torch.utils.data import dataloader

        self.torch = torch
        self.gpu = torch.cuda.is_available()
        before = optimizer.register_optimizer_step_pre_hook(self._before_step)
        after = optimizer.register_optimizer_step_post_hook(self._step)
        self._undo += [before.remove, after.remove]
        self._find_roots(True)
        self._undo.append(lambda: self._find_roots(False))
        self.replace(torch.autograd, "backward", self._backward)
        self.replace(dataloader._BaseDataLoaderIter, "__next__", self._next)
        self.replace(dataloader.DataLoader, "__iter__", self._iter)
        self.replace(dataloader.DataLoader, "__init__", self._made)
        self.replace(torch, "save", self._save)
        self.replace(torch, "load", self._load)
        self.replace(torch, "compile", self._compile)
        self.replace(warnings, "showwarning", self._warning)
        gc.callbacks.append(self._collected)
        self._undo.append(lambda: gc.callbacks.remove(self._collected))

    def remove(self) -> None:
        while self._undo:
            self._undo.pop()()
        with contextlib.suppress(OSError):
            self._saved.cleanup()

    # -- marks

    def _mark(self, kind: str, begin: float, key: str, line: Line, flag: int = 0) -> None:
        self.marks.append((kind, begin, clock(), key, line, flag))

    def _name(self, thing: Any) -> str:
        if (name := self._names.get(id(thing))) is None:
            name = f"{type(thing).__name__}#{len(self._names)}"
            self._names[id(thing)] = name
            self._objects.append(thing)
        return name

    def _enough(self, count: int, wanted: int) -> None:
        if not self._first:
            self._first = clock()
        took = clock() - self._first
        slow = took > self.seconds and count >= self.least
        if count >= wanted or slow or took > max(3 * self.seconds, PATIENCE):
            for call in self.at_end:
                call()
            raise Enough

    def _before_step(self, thing: Any, _args: Any, _kwargs: Any) -> None:
        self._step_from = clock()
        self.region = "optimizer"

    def _step(self, thing: Any, _args: Any, _kwargs: Any) -> None:
        line = self.places.line(sys._getframe(1))
        key = self._name(thing)
        self.optimizers[id(thing)] = thing
        self._mark("step", self._step_from, key, line)
        self.region = "outside"
        self._stepped[key] += 1
        self.resident.append((clock(), _resident_bytes()))
        if self.gpu:
            self.on_gpu.append(self.torch.cuda.memory_allocated())
        count = min(self._stepped.values())
        if count >= FINDING_ROOTS:
            self._found_roots()
        if self.torch.autograd._profiler_enabled():
            self.facts["profiler"] += 1
        self.region = "diagnose"
        for call in self.after_step:
            call(count)
        self._enough(count, self.steps)
        self.region = "outside"

    def _backward(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            line = self.places.line(sys._getframe(1))
            was, self.region = self.region, "diagnose"
            for call in self.at_backward:
                call(tensors)
            if self.torch.is_anomaly_enabled():
                self.facts["anomaly"] += 1
            begin, self.region = clock(), "backward"
            try:
                old(tensors, *args, **kwargs)
            finally:
                self.region = was
            self._mark("backward", begin, f"{line[0]}:{line[1]}", line)
            self._without_optimizer("backward")

        return backward

    def _without_optimizer(self, kind: str) -> None:
        self._seen[kind] += 1
        if self._stepped or (kind == "next" and self._seen["backward"]):
            return
        if self._seen[kind] == FINDING_ROOTS:
            self._found_roots()
        self._enough(self._seen[kind], max(self.steps, WITHOUT_OPTIMIZER))

    def _next(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def following(iterator: Any) -> Any:
            begin, was, self.region = clock(), self.region, "data"
            try:
                batch = old(iterator)
            finally:
                self.region = was
            line = self.places.line(sys._getframe(1))
            if not self.batch_size:
                self.batch_size = _first_size(batch)
            self._mark("next", begin, self._iterators.get(id(iterator), ""), line)
            self._without_optimizer("next")
            return batch

        return following

    def _iter(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def iterate(loader: Any) -> Any:
            begin, was, self.region = clock(), self.region, "data"
            try:
                iterator = old(loader)
            finally:
                self.region = was
            key = self._name(loader)
            self._iterators[id(iterator)] = key
            self._mark("iter", begin, key, self.places.line(sys._getframe(1)))
            return iterator

        return iterate

    def _made(self, old: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(old)  # a change reads its signature
        def make(loader: Any, *args: Any, **kwargs: Any) -> None:
            old(loader, *args, **kwargs)
            file, line = self.places.line(sys._getframe(1))
            try:
                batches = len(loader)
            except TypeError:
                batches = -1
            self.loaders[self._name(loader)] = Loader(
                loader.num_workers, loader.batch_size or 0, loader.persistent_workers,
                loader.pin_memory, batches, file, line,
            )  # fmt: skip

        return make

    # -- modules: each is looked at until the outermost are known

    def _entered(self, module: Any, args: Any) -> None:
        if self.torch.compiler.is_compiling():
            return
        self._depth += 1
        if self._depth == 1:
            if id(module) not in self.roots:
                self.roots[id(module)] = module
                self._name(module)
            self._forward(module, args)

    def _left(self, module: Any, args: Any, output: Any) -> None:
        if self.torch.compiler.is_compiling():
            return
        self._depth -= 1
        if self._depth == 0:
            self._forwarded(module, args, output)

    def _find_roots(self, on: bool) -> None:
        """Hooks on all modules, while the outermost aren't known."""
        from torch.nn.modules import module

        while self._finding:
            self._finding.pop().remove()
        if on:
            self._finding = [
                module.register_module_forward_pre_hook(self._entered),
                module.register_module_forward_hook(self._left, always_call=True),
            ]

    def _found_roots(self) -> None:
        """From here on only the outermost modules have hooks."""
        if not self._finding:
            return
        self._find_roots(False)
        self._depth = 0
        for module in self.roots.values():
            begin = module.register_forward_pre_hook(self._forward)
            end = module.register_forward_hook(self._forwarded, always_call=True)
            self._undo += [begin.remove, end.remove]

    def _forward(self, module: Any, args: Any) -> None:
        if self.torch.compiler.is_compiling():
            return
        self.region = "diagnose"
        for call in self.at_forward:
            call(module, args)
        self.region = "forward"
        self._forward_from = clock()

    def _forwarded(self, module: Any, _args: Any, output: Any) -> None:
        if self.torch.compiler.is_compiling():
            return
        self.region = "diagnose"
        flag = int(self.torch.is_grad_enabled()) + 2 * int(module.training)
        line = self.places.line(sys._getframe(1))
        self._mark("forward", self._forward_from, self._name(module), line, flag)
        for call in self.after_forward:
            call(module, output)
        self.region = "outside"

    # -- the rest

    def _save(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def save(thing: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            line = self.places.line(sys._getframe(1))
            begin, was, self.region = clock(), self.region, "save"
            try:
                return old(thing, self._elsewhere(f), *args, **kwargs)
            finally:
                self.region = was
                self._mark("save", begin, "", line)

        return save

    def _elsewhere(self, file: Any) -> Any:
        """The path in a folder that goes: a pass must not overwrite a real checkpoint."""
        if not isinstance(file, str | os.PathLike):
            return file
        asked = os.path.abspath(os.fspath(file))
        name = self._files.setdefault(asked, f"{len(self._files)}-{Path(asked).name}")
        return os.path.join(self._saved.name, name)

    def _load(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def load(f: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(f, str | os.PathLike):
                written = self._files.get(os.path.abspath(os.fspath(f)))
                f = os.path.join(self._saved.name, written) if written else f
            return old(f, *args, **kwargs)

        return load

    def _compile(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def compile_it(*args: Any, **kwargs: Any) -> Any:
            if not self.facts["compile"]:
                from torch._dynamo.callback import callback_handler as handler

                handler.register_start_callback(self._compiling)
                handler.register_end_callback(self._compiled)
                self._undo += [
                    lambda: handler.remove_start_callback(self._compiling),
                    lambda: handler.remove_end_callback(self._compiled),
                ]
            self.facts["compile"] += 1
            finding = bool(self._finding)
            self._find_roots(False)  # torch warns of hooks on all modules
            try:
                return old(*args, **kwargs)
            finally:
                self._find_roots(finding)

        return compile_it

    def _compiling(self, _args: Any) -> None:
        self._compile_from = clock()

    def _compiled(self, _args: Any) -> None:
        line = self.places.line(sys._getframe(1))
        self._mark("compile", self._compile_from, "", line)

    def _warning(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def show(message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
            theirs = self.places.is_theirs(filename)
            file, line = (filename, lineno) if theirs else self.places.line(sys._getframe(1))
            self.warned.append(Warned(str(message), file, line, category.__name__))
            old(message, category, filename, lineno, *rest)

        return show

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._gc_from = clock()
        elif clock() - self._gc_from > LONG_GC:
            self._mark("gc", self._gc_from, "", NOWHERE, info["generation"])

    # -- what it saw

    def seen(self) -> Seen:
        """All that was noted, as it goes to the command."""
        import resource

        marks = [Mark(kind, a, b, key, *line, flag) for kind, a, b, key, line, flag in self.marks]
        found = Seen(
            marks=marks, loaders=self.loaders, warned=self.warned, resident=self.resident,
            on_gpu=self.on_gpu, hook_seconds=self._cost_of_a_mark(),
            peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0,
        )  # fmt: skip
        for thing in self.optimizers.values():
            found.optimizers[self._name(thing)] = _optimizer(thing)
        found.facts = {
            **self.facts,
            "children_cpu": sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]),
        }
        if torch := getattr(self, "torch", None):
            found.facts |= _facts(torch, list(self.optimizers.values()), list(self.roots.values()))
            if self.gpu:
                found.peak_on_gpu = torch.cuda.max_memory_allocated()
        return found

    def _cost_of_a_mark(self) -> float:
        """Seconds of one mark: what a step's hooks do, done a thousand times here."""
        kept, n = len(self.marks), 1000
        begin = clock()
        for _ in range(n):
            self._mark("", clock(), "", self.places.line(sys._getframe(0)))
        took = (clock() - begin) / n
        del self.marks[kept:]
        begin = clock()
        for _ in range(100):
            _resident_bytes()
        return took + (clock() - begin) / 100 / 4  # one mark in four is a step, or fewer


def _first_size(batch: Any) -> int:
    """The first dimension of a batch's first tensor; 0 where it has none."""
    while isinstance(batch, list | tuple | dict) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return int(batch.size(0)) if hasattr(batch, "element_size") and batch.dim() else 0


def _resident_bytes() -> float:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * 4096.0
    except OSError:  # not Linux
        import psutil

        return float(psutil.Process().memory_info().rss)


def _optimizer(thing: Any) -> Optimizer:
    tensors = [p for group in thing.param_groups for p in group["params"]]
    state = [
        x for one in thing.state.values() if isinstance(one, dict) for x in one.values()
        if hasattr(x, "element_size")
    ]  # fmt: skip
    group = thing.param_groups[0]
    return Optimizer(
        type(thing).__name__, bool(group.get("fused")), "fused" in group,
        sum(p.numel() for p in tensors), sum(p.numel() * p.element_size() for p in tensors),
        sum(x.numel() * x.element_size() for x in state),
    )  # fmt: skip


def _facts(torch: Any, optimizers: list[Any], roots: list[Any]) -> dict[str, Any]:
    parameters = [p for o in optimizers for group in o.param_groups for p in group["params"]]
    wraps = [m for m in roots if hasattr(m, "require_backward_grad_sync")]
    return {
        "threads": torch.get_num_threads(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "devices": sorted({p.device.type for p in parameters}),
        "torch": str(torch.__version__),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        "ddp": len(wraps),
        "main": sys.argv[0],
    }
