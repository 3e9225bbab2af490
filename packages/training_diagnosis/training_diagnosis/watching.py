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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

from training_diagnosis.records import NOWHERE, Line, Loader, Mark, Optimizer, Seen, Warned

FINDING_ROOTS = 3  # steps in which each module is looked at, to find the outermost
LEAST_STEPS = 6  # before a pass may end for want of time
PATIENCE = 90.0  # seconds from the first mark, for fewer steps than that
WITHOUT_OPTIMIZER = 200  # backward passes, or batches, before they count as steps
CELL = "<ipython-input"  # how a cell's file is called outside of Jupyter
LONG_GC = 0.001  # seconds: shorter collections are not marked
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes; getrusage's manual pages

COLLECTIVES = (  # that scripts call; those of DDP are in its own statistics
    "all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "reduce", "barrier",
    "reduce_scatter", "reduce_scatter_tensor", "broadcast", "all_to_all", "all_to_all_single",
)  # fmt: skip

clock = time.perf_counter


class Enough(BaseException):
    """Ends the script when enough steps were seen; a script's `except Exception` lets it pass."""


def library_folders() -> tuple[str, ...]:
    """Folders whose code is not the reader's: Python's, the installed packages', this one."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    installed = (p for p in sys.path if p.endswith("-packages"))
    here = os.path.dirname(__file__)
    return (*paths, *installed, here)


class Places:
    """Finds the reader's line: the innermost frame outside of libraries."""

    def __init__(self) -> None:
        self.folders = library_folders()
        self.known: dict[str, bool] = {}

    def is_theirs(self, file: str) -> bool:
        if (found := self.known.get(file)) is None:
            found = file.startswith(CELL) or not file.startswith((*self.folders, "<"))
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
    Ranks stop after the same step: the first writes its number `together`, in a file.
    """

    def __init__(self, steps: int, seconds: float, together: str = "") -> None:
        self.steps, self.seconds, self.least = steps, seconds, LEAST_STEPS
        self.together = Path(f"{together}.stop") if together else None
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
        self.process = psutil.Process()
        self.main = ""  # the reader's file
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
        for name in COLLECTIVES if torch.distributed.is_available() else ():
            self.replace(torch.distributed, name, functools.partial(self._collective, name))
        gc.callbacks.append(self._collected)
        self._undo.append(lambda: gc.callbacks.remove(self._collected))

    def remove(self) -> None:
        while self._undo:
            self._undo.pop()()
        with contextlib.suppress(OSError):
            self._saved.cleanup()

    # -- marks

    def _mark(self, kind: str, begin: float, key: str = "", flag: int = 0) -> None:
        now = clock()
        self.marks.append((kind, begin, now, key, self.places.line(sys._getframe(1)), flag))

    def _timed(self, kind: str, region: str, key: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        """Returns the result of the call; unless it raises, its time is a mark."""
        begin, was, self.region = clock(), self.region, region
        try:
            result = call(*args, **kwargs)
        finally:
            self.region = was
        self._mark(kind, begin, key)
        return result

    def _tell(self, listeners: list[Callable[..., None]], *args: Any) -> None:
        """Calls what listens to the marks; the time that it takes is ours, not the script's."""
        was, self.region = self.region, "diagnose"
        for call in listeners:
            call(*args)
        self.region = was

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
        slow |= took > max(3 * self.seconds, PATIENCE)
        if self.together:
            slow = self._agreed(count, slow)
        if count >= wanted or slow:
            self._tell(self.at_end)
            raise Enough

    def _agreed(self, count: int, slow: bool) -> bool:
        """Whether the ranks stop after this step. The first decides it a step before: until it has
        begun that step's collectives, no other rank can end them.
        """
        assert self.together
        if slow and os.environ["RANK"] == "0" and not self.together.exists():
            part = Path(f"{self.together}.part")
            part.write_text(str(count + 1))
            part.replace(self.together)
        return self.together.exists() and count >= int(self.together.read_text())

    def _before_step(self, thing: Any, _args: Any, _kwargs: Any) -> None:
        self._step_from = clock()
        self.region = "optimizer"

    def _step(self, thing: Any, _args: Any, _kwargs: Any) -> None:
        key = self._name(thing)
        self.optimizers[id(thing)] = thing
        self._mark("step", self._step_from, key)
        self.region = "diagnose"
        self._stepped[key] += 1
        self.resident.append((clock(), self.process.memory_info().rss))
        if self.gpu:
            self.on_gpu.append(self.torch.cuda.memory_allocated())
        count = min(self._stepped.values())
        if count >= FINDING_ROOTS:
            self._found_roots()
        self.facts["profiler"] += self.torch.autograd._profiler_enabled()
        self._tell(self.after_step, count)
        self._enough(count, self.steps)
        self.region = "outside"

    def _backward(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._tell(self.at_backward, tensors)
            self.facts["anomaly"] += self.torch.is_anomaly_enabled()
            self._timed("backward", "backward", "", old, tensors, *args, **kwargs)
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
            key = self._iterators.get(id(iterator), "")
            batch = self._timed("next", "data", key, old, iterator)
            self.batch_size = self.batch_size or _first_size(batch)
            self._without_optimizer("next")
            return batch

        return following

    def _iter(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def iterate(loader: Any) -> Any:
            key = self._name(loader)
            iterator = self._timed("iter", "data", key, old, loader)
            self._iterators[id(iterator)] = key
            return iterator

        return iterate

    def _made(self, old: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(old)  # a change reads its signature
        def make(loader: Any, *args: Any, **kwargs: Any) -> None:
            old(loader, *args, **kwargs)
            place = self.places.line(sys._getframe(1))
            made = Loader(loader.num_workers, loader.persistent_workers, *place)
            self.loaders[self._name(loader)] = made

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
        """Leaves hooks on the outermost modules only."""
        if not self._finding:
            return
        self._find_roots(False)
        self._depth = 0
        for module in self.roots.values():
            begin = module.register_forward_pre_hook(self._forward)
            end = module.register_forward_hook(self._forwarded, always_call=True)
            self._undo += [begin.remove, end.remove]

    def _forward(self, module: Any, args: Any) -> None:
        if not self.torch.compiler.is_compiling():
            self._tell(self.at_forward, module, args)
            self.region = "forward"
            self._forward_from = clock()

    def _forwarded(self, module: Any, _args: Any, output: Any) -> None:
        if not self.torch.compiler.is_compiling():
            flag = int(self.torch.is_grad_enabled()) + 2 * int(module.training)
            self._mark("forward", self._forward_from, self._name(module), flag)
            synchronises = flag == 3 and getattr(module, "require_backward_grad_sync", False)
            self.facts["synchronised"] += synchronises
            self._tell(self.after_forward, module, output)
            self.region = "outside"

    # -- the rest

    def _collective(self, name: str, old: Callable[..., Any]) -> Callable[..., Any]:
        return functools.partial(self._timed, "collective", "communicating", name, old)

    def _save(self, old: Callable[..., Any]) -> Callable[..., Any]:
        return lambda thing, f, *args, **kwargs: self._timed(
            "save", "save", "", old, thing, self._elsewhere(f), *args, **kwargs
        )

    def _elsewhere(self, file: Any, write: bool = True) -> Any:
        """The path in a folder that goes: a pass must not overwrite a real checkpoint. A file that
        was not written there is read where it is.
        """
        if not isinstance(file, str | os.PathLike):
            return file
        asked = os.path.abspath(os.fspath(file))
        if write and asked not in self._files:
            name = f"{len(self._files)}-{Path(asked).name}"
            self._files[asked] = os.path.join(self._saved.name, name)
        return self._files.get(asked, file)

    def _load(self, old: Callable[..., Any]) -> Callable[..., Any]:
        return lambda f, *args, **kwargs: old(self._elsewhere(f, write=False), *args, **kwargs)

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
        self._mark("compile", self._compile_from)

    def _warning(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def show(message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
            theirs = self.places.is_theirs(filename)
            file, line = (filename, lineno) if theirs else self.places.line(sys._getframe(1))
            self.warned.append(Warned(str(message), file, line))
            old(message, category, filename, lineno, *rest)

        return show

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._gc_from = clock()
        elif clock() - self._gc_from > LONG_GC:
            self.marks.append(("gc", self._gc_from, clock(), "", NOWHERE, info["generation"]))

    # -- what it saw

    def seen(self) -> Seen:
        """All that was noted, as it goes to the command."""
        import resource  # not on Windows

        used, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        found = Seen(
            marks=[Mark(*mark[:4], *mark[4], mark[5]) for mark in self.marks],
            loaders=self.loaders, warned=self.warned, resident=self.resident, on_gpu=self.on_gpu,
            hook_seconds=self._cost_of_a_mark(), peak_bytes=float(used.ru_maxrss * MAXRSS_UNIT),
            optimizers={self._name(one): _optimizer(one) for one in self.optimizers.values()},
        )  # fmt: skip
        found.facts = {**self.facts, "children_cpu": sum(children[:2]), "main": self.main}
        if torch := getattr(self, "torch", None):
            found.facts |= _facts(torch, list(self.optimizers.values()), list(self.roots.values()))
            if self.gpu:
                found.peak_on_gpu = torch.cuda.max_memory_allocated()
        return found

    def _cost_of_a_mark(self) -> float:
        """Seconds of one mark: a thousand are made here, each fourth as a step's."""
        kept, n = len(self.marks), 1000
        begin = clock()
        for i in range(n):
            self._mark("", clock())
            if i % 4 == 0:
                self.process.memory_info()
        del self.marks[kept:]
        return (clock() - begin) / n


def _first_size(batch: Any) -> int:
    """The first dimension of a batch's first tensor; 0 where it has none."""
    while isinstance(batch, list | tuple | dict) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return int(batch.size(0)) if hasattr(batch, "element_size") and batch.dim() else 0


def _optimizer(thing: Any) -> Optimizer:
    updated = parameters([thing])
    kept = [x for one in thing.state.values() if isinstance(one, dict) for x in one.values()]
    group = thing.param_groups[0]
    return Optimizer(
        type(thing).__name__, bool(group.get("fused")), "fused" in group,
        sum(p.nbytes for p in updated),
        sum(x.nbytes for x in kept if hasattr(x, "element_size")),
    )  # fmt: skip


def parameters(optimizers: Iterable[Any]) -> list[Any]:
    """The tensors that these optimizers update."""
    return [p for one in optimizers for group in one.param_groups for p in group["params"]]


def _exposed(module: Any) -> float:
    """Seconds that DDP's collectives add to a backward pass, by its statistics of the first ten."""
    said: dict[str, int] = getattr(module, "_get_ddp_logging_data", dict)()
    sent, hidden = (
        said.get(f"avg_backward_{name}_time", 0) for name in ("comm", "compute_comm_overlap")
    )
    return max(sent - hidden, 0) / 1e9


def _facts(torch: Any, optimizers: list[Any], roots: list[Any]) -> dict[str, Any]:
    near = getattr(os, "sched_getaffinity", lambda _pid: range(os.cpu_count() or 1))
    return {
        "threads": torch.get_num_threads(),
        "cores": len(near(0)),
        "devices": sorted({p.device.type for p in parameters(optimizers)}),
        "torch": str(torch.__version__),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        "exposed": sum(map(_exposed, roots)),
    }
