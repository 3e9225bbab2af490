"""A device that isn't there: operators are launched by one thread of a CPU and run by another.

A `QueueTensor` has a shape and a type, but its numbers are the worker's. What PyTorch calls on it
(forward, backward, an optimizer) is answered at once with tensors of the right shapes, and put into
a queue; the worker takes it from there and runs it, as chapter 2's backend does. So the host runs
ahead, waits where a GPU would make it wait, and falls behind where its launches are too many.

The profiler sees both threads. The launches, the waits and what the worker runs are annotated, by
the names below, from which `recording` makes the columns of a GPU's trace.
"""

import itertools
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import torch
from torch._C._profiler import _RecordFunctionFast as annotated
from torch.utils._pytree import tree_leaves, tree_map

LAUNCH, WAIT = "queueLaunchKernel", "queueStreamSynchronize"
KERNEL, COPY = "kernel", "copy"
aten = torch.ops.aten
VIEWS = {  # they compute nothing: they go with the next operator that does
    "_reshape_alias", "_unsafe_view", "alias", "as_strided", "detach", "expand", "permute",
    "select", "slice", "split", "squeeze", "t", "transpose", "unbind", "unsqueeze", "view",
}  # fmt: skip
_numbers = itertools.count()


class Queue:
    """A stream of the device: a thread that runs what is launched, in order."""

    def __init__(self) -> None:
        self.commands: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self.errors: list[Exception] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        torch.set_num_threads(1)
        while True:
            try:
                self.commands.get()()
            except Exception as error:
                self.errors.append(error)

    def launch(self, work: Callable[[], Any], what: str) -> None:
        """Queues `work`; `what` begins with KERNEL or COPY, and is what the trace calls it."""
        number = next(_numbers)

        def run() -> None:
            with torch.no_grad(), annotated(f"{what} #{number}"):
                work()

        with annotated(f"{LAUNCH} #{number}"):
            self.commands.put(run)

    def record_event(self) -> threading.Event:
        """Happens when all that was launched before is done."""
        event = threading.Event()
        self.commands.put(event.set)
        return event

    def wait_event(self, event: threading.Event) -> None:
        """This queue stands still until then; the host goes on."""
        self.commands.put(event.wait)

    def synchronize(self) -> None:
        """The host stands still until all is done. Raises: what the worker raised."""
        with annotated(WAIT):
            self.record_event().wait()
        if self.errors:
            raise self.errors[0]


class Device:
    """A queue, and the views that wait for the next operator."""

    def __init__(self) -> None:
        self.queue = Queue()
        self.views: list[Callable[[], Any]] = []

    def run(self, operator: Callable[[], Any], name: str) -> None:
        """Launches an operator with the views before it; a view waits for the next operator."""
        self.views.append(operator)
        if name not in VIEWS:
            self.launch_all(f"{KERNEL} aten::{name}")

    def launch_all(self, what: str = f"{KERNEL} views") -> None:
        """Launches what has waited."""
        if self.views:
            works, self.views = self.views, []
            self.queue.launch(lambda: [work() for work in works], what)

    def answer(self, like: Any, given: list["QueueTensor"]) -> Any:
        """An argument that is returned, by its place; or a new tensor; or no tensor."""
        if isinstance(like, torch.Tensor):
            return QueueTensor(like, Cell(), self)
        return given[like] if isinstance(like, int) else like

    def record_event(self) -> threading.Event:
        """Happens when all that was called before is done."""
        self.launch_all()
        return self.queue.record_event()

    def synchronize(self) -> None:
        """The host stands still until all is done. Raises: what the worker raised."""
        self.launch_all()
        self.queue.synchronize()

    def put(self, values: torch.Tensor) -> "QueueTensor":
        """A host's tensor on the device, copied there in its turn."""
        cell, kept = Cell(), values.detach().clone()

        def copy() -> None:
            cell.values = kept.clone()

        self.launch_all()
        self.queue.launch(copy, f"{COPY} Memcpy HtoD (Host -> Queue)")
        return QueueTensor(kept, cell, self)

    def get(self, values: "QueueTensor") -> torch.Tensor:
        """The host's copy of a tensor, when it is there."""
        self.synchronize()
        return values.cell.values.clone()


class Cell:
    """Where the worker keeps a tensor's numbers, once it has them."""

    values: torch.Tensor


class QueueTensor(torch.Tensor):
    """A tensor whose numbers the worker has; its shape and type are known to the host."""

    cell: Cell
    where: Device

    @staticmethod
    def __new__(cls, like: torch.Tensor, cell: Cell, device: Device) -> "QueueTensor":
        made: QueueTensor = torch.Tensor._make_wrapper_subclass(
            cls, like.shape, strides=like.stride(), dtype=like.dtype, device="cpu"
        )
        made.cell, made.where = cell, device
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Answers with tensors of the right shapes, and launches what will fill them."""
        kwargs = kwargs or {}
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, QueueTensor)]
        device = given[0].where
        if func is aten._local_scalar_dense.default:
            device.synchronize()
            return given[0].cell.values.item()
        several, likes = _shapes(func, args, kwargs, given)
        made = [device.answer(like, given) for like in likes]
        cells = _cells(made)
        args = _cells(args)
        kwargs = {name: _cell(one) for name, one in kwargs.items()}

        def operator() -> None:
            named = {name: _values(one) for name, one in kwargs.items()}
            found = func(*map(_values, args), **named)
            for cell, values in zip(cells, found if several else [found], strict=True):
                if isinstance(cell, Cell):
                    cell.values = values

        device.run(operator, func.overloadpacket.__name__)
        return several(made) if several else made[0]


_known: dict[Any, tuple[Any, list[Any]]] = {}


def _shapes(func: Any, args: Any, kwargs: Any, given: list[QueueTensor]) -> tuple[Any, list[Any]]:
    """What an operator returns: list, tuple or None for one alone, and what each is like.

    An int is the place of an argument that it returns, changed in place. Asked of PyTorch once for
    each operator with such arguments, on its meta device, which computes shapes alone.
    """
    key = (func, _sign(args), _sign(tuple(kwargs.items())))
    if key not in _known:
        metas = {id(one): _meta(one) for one in given}
        asked = tree_map(lambda one: _on_meta(one, metas), (args, kwargs))
        found = func(*asked[0], **asked[1])
        several = type(found) if isinstance(found, list | tuple) else None
        places = {id(metas[id(one)]): place for place, one in enumerate(given)}
        _known[key] = several, [places.get(id(one), one) for one in (found if several else [found])]
    return _known[key]


def _meta(one: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="meta")


def _on_meta(one: Any, metas: dict[int, torch.Tensor]) -> Any:
    if isinstance(one, torch.device):
        return torch.device("meta")
    if id(one) in metas:
        return metas[id(one)]
    return one.to("meta") if isinstance(one, torch.Tensor) and one.dim() else one


def _sign(one: Any) -> Any:
    """What an operator's shapes may depend on, as a key."""
    if isinstance(one, torch.Tensor):
        return one.shape, one.stride(), one.dtype
    if isinstance(one, list | tuple):
        return tuple(map(_sign, one))
    return type(one), None if isinstance(one, float) else one


def _cell(one: Any) -> Any:
    """What the worker is given for an argument: a tensor's cell; of a list each one's."""
    if isinstance(one, QueueTensor):
        return one.cell
    return _cells(one) if isinstance(one, list | tuple) else one


def _cells(several: Any) -> list[Any]:
    return [_cell(one) for one in several]


def _values(one: Any) -> Any:
    """The tensors that the worker has for what it was given."""
    if isinstance(one, Cell):
        return one.values
    return [_values(each) for each in one] if isinstance(one, list) else one


def move(model: torch.nn.Module, device: Device) -> torch.nn.Module:
    """Puts a model's parameters and buffers on the device, in their place."""
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            _move(table, device)
    return model


def _move(table: Any, device: Device) -> None:
    for name, one in table.items():
        if isinstance(one, torch.nn.Parameter):
            table[name] = torch.nn.Parameter(device.put(one))
        elif one is not None:
            table[name] = device.put(one)
