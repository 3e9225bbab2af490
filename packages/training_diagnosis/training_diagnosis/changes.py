"""Runs a script with one thing changed, so that a gain is measured instead of promised.

Each change is a function of the watch (and of a number where its name has one, as in `threads:2`),
which replaces what the script calls. It counts what it changed in `watch.facts["applied"]`: a
change that never took effect has measured nothing.
"""

import contextlib
import gc
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from training_diagnosis.watching import Watch, parameters

WORKERS_ONLY = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout")
Change = Callable[[Watch, int], None]
CHANGES: dict[str, tuple[Change, str]] = {}


def change(name: str, words: str) -> Callable[[Change], Change]:
    def keep(function: Change) -> Change:
        CHANGES[name] = function, words
        return function

    return keep


def apply(name: str, watch: Watch) -> None:
    """Makes one change, after `watch.install()`."""
    what, _, number = name.partition(":")
    CHANGES[what][0](watch, int(number or 0))


def in_words(name: str) -> str:
    what, _, number = name.partition(":")
    return CHANGES[what][1].format(number)


def _instead(watch: Watch, owner: Any, name: str, call: Callable[..., Any]) -> None:
    """Calls this in the place of an attribute, with the old one before the arguments; each call is
    counted as applied.
    """

    def make(old: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*args: Any, **kwargs: Any) -> Any:
            watch.facts["applied"] += 1
            return call(old, *args, **kwargs)

        return changed

    watch.replace(owner, name, make)


def _loader_arguments(watch: Watch, update: Callable[[dict[str, Any]], None]) -> None:
    from torch.utils.data import DataLoader

    signature = inspect.signature(DataLoader.__init__)

    def construct(old: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        arguments = signature.bind(*args, **kwargs).arguments
        update(arguments)
        old(arguments.pop("self"), **arguments)

    _instead(watch, DataLoader, "__init__", construct)


@change("workers", "num_workers={}")
def _workers(watch: Watch, number: int) -> None:
    def update(arguments: dict[str, Any]) -> None:
        arguments["num_workers"] = number
        for name in WORKERS_ONLY if number == 0 else ():
            arguments.pop(name, None)

    _loader_arguments(watch, update)


@change("persistent", "persistent_workers=True")
def _persistent(watch: Watch, _number: int) -> None:
    def update(arguments: dict[str, Any]) -> None:
        if arguments.get("num_workers"):
            arguments["persistent_workers"] = True

    _loader_arguments(watch, update)


@change("first-batch", "the first batch used again for every step")
def _first_batch(watch: Watch, _number: int) -> None:
    from torch.utils.data import DataLoader

    def iterate(old: Callable[..., Any], loader: Any) -> Iterator[Any]:
        first = next(old(loader))
        try:
            return itertools.repeat(first, len(loader))
        except TypeError:  # a loader without a length
            return itertools.repeat(first)

    _instead(watch, DataLoader, "__iter__", iterate)


@change("threads", "{} threads for each process")
def _threads(watch: Watch, number: int) -> None:
    before = watch.torch.get_num_threads()
    watch.torch.set_num_threads(number)
    watch.facts["applied"] += 1
    watch.undo(lambda: watch.torch.set_num_threads(before))
    watch.replace(watch.torch, "set_num_threads", lambda old: lambda n: None)


@change("no-anomaly", "anomaly detection off")
def _no_anomaly(watch: Watch, _number: int) -> None:
    autograd = watch.torch.autograd
    for owner in (autograd, autograd.anomaly_mode):
        for name in ("set_detect_anomaly", "detect_anomaly"):
            _instead(watch, owner, name, lambda *_, **__: contextlib.nullcontext())


@change("float32", "float32 in the place of float64")
def _float32(watch: Watch, _number: int) -> None:
    torch = watch.torch

    def smaller(value: Any) -> Any:
        if value is torch.float64:
            watch.facts["applied"] += 1
            return torch.float32
        return value

    def as_float(old: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            kwargs = {name: smaller(value) for name, value in kwargs.items()}
            return _cast(watch, old(*map(smaller, args), **kwargs))

        return call

    watch.replace(torch, "set_default_dtype", lambda old: lambda dtype: old(smaller(dtype)))
    for owner in (torch.nn.Module, torch.Tensor):
        watch.replace(owner, "to", as_float)
        watch.replace(owner, "double", lambda _old: lambda thing: thing.to(torch.float64))
    for name in ("from_numpy", "tensor", "as_tensor", "zeros", "ones", "randn", "rand"):
        watch.replace(torch, name, as_float)
    _each_batch(watch, lambda batch: tree_map(lambda x: _cast(watch, x), batch))


def _cast(watch: Watch, value: Any) -> Any:
    torch = watch.torch
    if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
        watch.facts["applied"] += 1
        return torch.Tensor.float(value)
    return value


@change("no-save", "no checkpoint written")
def _no_save(watch: Watch, _number: int) -> None:
    _instead(watch, watch.torch, "save", lambda *_, **__: None)


@change("fused", "the optimizer with fused=True")
def _fused(watch: Watch, _number: int) -> None:
    from torch.optim import optimizer

    def before(thing: Any, _args: Any, _kwargs: Any) -> None:
        for group in thing.param_groups:
            if "fused" in group and not group["fused"]:
                group["fused"], group["foreach"] = True, False
                watch.facts["applied"] += 1

    watch.undo(optimizer.register_optimizer_step_pre_hook(before).remove)


@change("gc-freeze", "gc.freeze() after the set-up")
def _gc_freeze(watch: Watch, _number: int) -> None:
    def freeze(step: int) -> None:
        if step == 1:
            gc.collect()
            gc.freeze()
            watch.undo(gc.unfreeze)
            watch.facts["applied"] += 1

    watch.after_step.append(freeze)


def unused(watch: Watch) -> list[Any]:
    """Parameters of the outermost modules that get a gradient and that no optimizer updates."""
    updated = {id(p) for p in parameters(watch.optimizers.values())}
    every = {id(p): p for module in watch.roots.values() for p in module.parameters()}
    return [p for i, p in every.items() if i not in updated and p.grad is not None]


@change("frozen", "requires_grad_(False) for what no optimizer updates")
def _frozen(watch: Watch, _number: int) -> None:
    def freeze(step: int) -> None:
        for parameter in unused(watch) if step <= 2 else ():
            parameter.requires_grad_(False)
            parameter.grad = None
            watch.facts["applied"] += 1

    watch.after_step.append(freeze)


@change("no-sync", "gradients synchronised once in {} backward passes")
def _no_sync(watch: Watch, number: int) -> None:
    count = [0]

    def forward(module: Any, _args: Any) -> None:
        if hasattr(module, "require_backward_grad_sync") and module.training:
            count[0] += 1
            module.require_backward_grad_sync = count[0] % number == 0
            watch.facts["applied"] += 1

    def restart(_step: int) -> None:
        count[0] = 0

    watch.at_forward.append(forward)
    watch.after_step.append(restart)


@change("eval-no-grad", "validation without gradients")
def _eval_no_grad(watch: Watch, _number: int) -> None:
    was: list[bool] = []

    def enter(module: Any, _args: Any) -> None:
        was.append(watch.torch.is_grad_enabled())
        if not module.training and was[-1]:
            watch.torch.set_grad_enabled(False)
            watch.facts["applied"] += 1

    def leave(_module: Any, _output: Any) -> None:
        watch.torch.set_grad_enabled(was.pop())

    watch.at_forward.append(enter)
    watch.after_forward.append(leave)


@change("stack-arrays", "np.stack before torch.tensor")
def _stack_arrays(watch: Watch, _number: int) -> None:
    import numpy as np

    def make(old: Callable[..., Any]) -> Callable[..., Any]:
        def tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(data, list | tuple) and data and isinstance(data[0], np.ndarray):
                watch.facts["applied"] += 1
                data = np.stack(data)
            return old(data, *args, **kwargs)

        return tensor

    for name in ("tensor", "as_tensor"):
        watch.replace(watch.torch, name, make)


@change("trimmed", "each batch cut at its longest sequence")
def _trimmed(watch: Watch, _number: int) -> None:
    def trim(batch: Any) -> Any:
        lengths = [found for x in tensors(batch) if (found := padding(x))]
        if not lengths:
            return batch
        width, keep, _share = lengths[0]
        watch.facts["applied"] += 1

        def cut(x: Any) -> Any:
            return x[:, :keep] if getattr(x, "ndim", 0) > 1 and x.shape[1] == width else x

        return tree_map(cut, batch)

    _each_batch(watch, trim)


def padding(ids: Any) -> tuple[int, int, float] | None:
    """Describes a (batch, length) tensor of ids: its length, that of its longest row, and the share
    of positions at the ends of rows that all hold one id; None where fewer than 10% do.
    """
    if ids.dim() != 2 or ids.is_floating_point() or ids.size(0) < 2 or ids.size(1) < 8:
        return None
    pads = ids.flip(1).eq(ids[0, -1]).cumprod(1).sum(1)  # the run of that id at each row's end
    share = float(pads.float().mean()) / ids.size(1)
    if share < 0.1 or int(pads.min()) < 0:
        return None
    return ids.size(1), max(ids.size(1) - int(pads.min()), 1), share


def _each_batch(watch: Watch, update: Callable[[Any], Any]) -> None:
    from torch.utils.data import dataloader

    iterator = dataloader._BaseDataLoaderIter
    watch.replace(iterator, "__next__", lambda old: lambda one: update(old(one)))


def tree_map(function: Callable[[Any], Any], batch: Any) -> Any:
    from torch.utils._pytree import tree_map

    return tree_map(function, batch)


def tensors(value: Any) -> list[Any]:
    """The tensors in lists, dictionaries and dataclasses inside of one another."""
    from torch.utils._pytree import tree_leaves

    value = vars(value) if hasattr(value, "__dataclass_fields__") else value
    return [x for x in tree_leaves(value) if hasattr(x, "element_size")]


@change("dynamic", "torch.compile(dynamic=True)")
def _dynamic(watch: Watch, _number: int) -> None:
    def compile_it(old: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return old(*args, **{**kwargs, "dynamic": True})

    _instead(watch, watch.torch, "compile", compile_it)


@change("no-profiler", "without the profiler")
def _no_profiler(watch: Watch, _number: int) -> None:
    from torch.autograd.profiler import profile as older
    from torch.profiler import profile

    names = {profile: ("start", "stop", "step", "export_chrome_trace")}
    for owner, all_of_it in (names | {older: ("__enter__", "__exit__")}).items():
        for name in all_of_it:
            _instead(watch, owner, name, lambda _old, profiler, *_, **__: profiler)


@change("clean-environment", "without the debugging variables")
def _clean_environment(watch: Watch, _number: int) -> None:
    watch.facts["applied"] += 1  # the command took them out of the environment
