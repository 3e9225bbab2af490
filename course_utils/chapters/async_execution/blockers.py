"""Finding what makes the CPU wait: every place where Python asks for a tensor's values.

Two watchers. Anywhere, torch's own override modes see the calls that would have to wait on a GPU:
functions that hand values to Python or to the host, and operators whose output size depends on
values. On a GPU, torch.cuda.set_sync_debug_mode("warn") sees the waits that really happen; it
misses torch.cuda.synchronize and waits on events, which the first watcher sees.
"""

import contextlib
import linecache
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

# ---- Tensors that would live on the host on any machine: reading them never waits.

AWAY = ("to", "cuda")


class HostCopies:
    """The results of copies to the host, and what was made of those alone.

    On a machine without a GPU a copy to the host is the tensor itself. So each is kept as a view of
    its own: the original is still one that would live on a GPU.
    """

    def __init__(self) -> None:
        self._kept = WeakTensorKeyDictionary()

    def are_all(self, args: tuple[Any, ...]) -> bool:
        """Whether a call with these arguments works on such copies alone."""
        tensors = [x for x in tree_leaves(args) if isinstance(x, torch.Tensor)]
        return bool(tensors) and all(x in self._kept for x in tensors)

    def after(self, name: str, result: Any, to_host: bool) -> Any:
        """The result of function `name`, kept as a copy unless it goes back to a device."""
        keep = to_host or name not in AWAY

        def view(x: torch.Tensor) -> torch.Tensor:
            mine = x.view_as(x)
            if keep:
                self._kept[mine] = True
            return mine

        return tree_map_only(torch.Tensor, view, result)


CONVERSIONS = ("bool", "int", "float", "index", "repr", "format", "array", "contains")
VALUES_TO_PYTHON = {"item", "tolist", "numpy", "equal", "allclose"}
TENSOR_FROM_LIST = {"tensor", "as_tensor", "asarray"}
VALUES_TO_PYTHON |= {f"__{name}__" for name in CONVERSIONS}
SIZE_FROM_VALUES = {"nonzero", "masked_select", "unique", "_unique2", "unique_consecutive"}
SIZE_FROM_VALUES |= {"bincount"}
# "synchronizes that device with the CPU", says the documentation of torch.linalg
ASKS_HOW_IT_WENT = {"_linalg_check_errors", "_linalg_eigh", "_linalg_svd"}
ASKS_HOW_IT_WENT |= {"linalg_eig", "linalg_pinv"}
MASKS = (torch.bool, torch.uint8)
NUMBERS = (bool, int, float, complex)
COPIES = ("cpu", "to('cpu')")
SHOWN = {"__bool__": "bool() or if", "__repr__": "print", "__format__": "print",
         "_local_scalar_dense": "item"}  # fmt: skip
SHOWN |= dict.fromkeys(ASKS_HOW_IT_WENT, "linalg asks whether it went well")
EXPLICIT = ("cuda.synchronize", "cuda.Stream.synchronize", "cuda.Event.synchronize")
_NOT_THE_CALLERS = (
    str(Path(torch.__file__).parent),
    __file__,
    str(warnings.__file__),
    str(contextlib.__file__),
)

_one_at_a_time = threading.RLock()  # waits are watched by patching torch.cuda, which all share
_OPTIMIZERS = str(Path(torch.optim.__file__).parent)


@dataclass(frozen=True)
class Blocker:
    """One wait: what asked (`item`), and where; `line` counts from 1 at the function's `def`."""

    what: str
    line: int
    source: str

    def __str__(self) -> str:
        return f"line {self.line} ({self.what}): {self.source}"


def find_blockers(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Blocker]:
    """Calls `fn` and lists, in order, every wait of the CPU in it, on any machine.

    A wait in a function that `fn` calls is listed with that function's line. On a CPU these are
    the places that would wait if every tensor lived on a GPU. A copy to "cpu" counts unless
    it's `non_blocking=True`; reading it then doesn't. `host.copy_(x)`, and copies from the host,
    are seen only on a GPU: elsewhere nothing tells which tensor would live where.
    """
    found = _Found()
    with ExitStack() as stack:
        stack.enter_context(_one_at_a_time)
        stack.enter_context(_Functions(found))
        stack.enter_context(_Operators(found))
        for name in EXPLICIT:
            watched = _watched(found, attrgetter(name)(torch))
            stack.enter_context(mock.patch(f"torch.{name}", watched))
        if torch.cuda.is_available():
            stack.enter_context(_sync_debug(found))
        fn(*args, **kwargs)
    return found.blockers


class _Found:
    """The blockers found so far.

    `inside` is true while a call that waits runs: the calls that it makes itself aren't noted.
    `hushed` is true while a call runs that a GPU carries out by other operators than a CPU: those
    that the CPU uses say nothing about it, as while one reads `copies` on the host.
    """

    def __init__(self) -> None:
        self.blockers: list[Blocker] = []
        self.inside = self.hushed = False
        self.copies = HostCopies()

    def add(self, what: str) -> None:
        frame = _caller()
        if frame is not None:
            self.blockers.append(_blocker(what, frame))

    @contextmanager
    def call(self, what: str | None) -> Iterator[None]:
        if what is None or self.inside:
            yield
            return
        self.add(what)
        self.inside = True
        try:
            yield
        finally:
            self.inside = False


class _Watcher:
    """The base of both watchers: where to note what they see."""

    def __init__(self, found: _Found) -> None:
        super().__init__()
        self.found = found


class _Functions(_Watcher, TorchFunctionMode):
    """Sees calls as Python makes them, so also `.cpu()` and `.numpy()` of a tensor on the CPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name, what = getattr(func, "__name__", ""), _blocking_function(func, args, kwargs)
        copied = self.found.copies.are_all(args)
        hushed = copied or _waits_on_a_cpu_only(func, args, kwargs)
        before, self.found.hushed = self.found.hushed, hushed
        try:
            with self.found.call(None if copied else what):
                result = func(*args, **kwargs)
        finally:
            self.found.hushed = before
        to_host = what in COPIES
        return self.found.copies.after(name, result, to_host) if copied or to_host else result


class _Operators(_Watcher, TorchDispatchMode):
    """Sees the operators below: those that other functions call on the way."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        what = None if self.found.hushed else _blocking_operator(func, args, kwargs)
        with self.found.call(what):
            return func(*args, **kwargs)


def _blocking_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    name = getattr(func, "__name__", "")
    if name in VALUES_TO_PYTHON or name in SIZE_FROM_VALUES:
        return name
    if name in TENSOR_FROM_LIST and args and _holds_tensors(args[0]):
        return f"{name} of a list"
    if name == "cpu":
        return "cpu"
    if name == "to" and not kwargs.get("non_blocking") and _to_host(args[1:], kwargs):
        return "to('cpu')"
    return None


def _holds_tensors(values: Any) -> bool:
    """Whether it's a list in which tensors stand: torch reads each of them, one by one."""
    leaves = tree_leaves(values) if isinstance(values, list | tuple) else ()
    return any(isinstance(leaf, torch.Tensor) for leaf in leaves)


def _to_host(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Only the word "cpu" counts: a torch.device that is the CPU here is the GPU elsewhere."""
    wanted = [kwargs.get("device"), *args]
    return "cpu" in [w for w in wanted if isinstance(w, str)]


def _waits_on_a_cpu_only(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a CPU looks at values here that a GPU doesn't need.

    On a GPU `x[mask] = 0` is a masked_fill, and one_hot with a number of classes looks for none.
    Source: TensorAdvancedIndexing.cpp (canDispatchToMaskedFill), Onehot.cpp, of torch 2.13.
    """
    name = getattr(func, "__name__", "")
    if name == "__setitem__":
        indices = args[1] if isinstance(args[1], tuple) else (args[1],)
        tensors = [i for i in indices if isinstance(i, torch.Tensor)]
        one_mask = len(tensors) == 1 and tensors[0].dtype in MASKS
        return one_mask and isinstance(args[2], NUMBERS)
    return name == "one_hot" and (*args[1:], kwargs.get("num_classes", -1))[0] >= 0


def _blocking_operator(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    name = func.overloadpacket.__name__
    if name == "_local_scalar_dense" or name in SIZE_FROM_VALUES or name in ASKS_HOW_IT_WENT:
        return name
    if name == "repeat_interleave" and kwargs.get("output_size") is None:
        return name
    if name in ("index", "index_put", "index_put_") and _has_mask(args[1]):
        return "boolean mask"
    return None


def _has_mask(indices: Any) -> bool:
    return any(isinstance(i, torch.Tensor) and i.dtype in MASKS for i in indices)


def _watched(found: _Found, wait: Callable[..., Any]) -> Callable[..., Any]:
    """A wait that names itself, noted before it is done; torch's sync debug mode doesn't see it."""

    def watched(*args: Any, **kwargs: Any) -> Any:
        with found.call("synchronize"):
            return wait(*args, **kwargs) if torch.cuda.is_available() else None

    return watched


@contextmanager
def _sync_debug(found: _Found) -> Iterator[None]:
    """Adds the lines where CUDA really waited and that the other watchers didn't see.

    A warning raised in C++ is attributed to the innermost Python frame, which is a watcher's own,
    so the caller is looked up at the moment of the warning.
    """
    before = torch.cuda.get_sync_debug_mode()
    heard: list[Blocker] = []

    def hear(message: Warning | str, *_rest: Any, **_named: Any) -> None:
        frame = _caller()
        if "synchronizing CUDA operation" in str(message) and not found.inside and frame:
            heard.append(_blocker("CUDA waits", frame))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = hear
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode(before)
    seen = {blocker.source for blocker in found.blockers}
    found.blockers += [wait for wait in heard if wait.source not in seen]


def _caller() -> FrameType | None:
    """The innermost frame that isn't torch's, the standard library's contextlib, or this file's.

    None where an optimizer asks: its step counters live on the host, so reading one never waits.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OPTIMIZERS):
            return None
        if not file.startswith(_NOT_THE_CALLERS):
            return frame
        frame = frame.f_back
    return None


def _blocker(what: str, frame: FrameType) -> Blocker:
    code = frame.f_code
    first = 1 if code.co_name == "<module>" else code.co_firstlineno
    source = linecache.getline(code.co_filename, frame.f_lineno).strip()
    return Blocker(SHOWN.get(what, what), frame.f_lineno - first + 1, source)
