"""Counting bytes: every storage that a piece of real code holds, by kind, exactly.

A torch dispatch mode sees each operator's results, a weak reference sees each storage die; so the
count holds on any device, on fake tensors too, and under activation checkpointing, where the
tensors that autograd packs (`saved_tensors_hooks`) say nothing about what is recomputed. The idea
is that of `torch.distributed._tools.mem_tracker`, with kinds that chapter 7 and chapter 9 teach.

Not seen: what a kernel allocates and frees inside (a workspace), and an allocator's rounding.
"""

import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from snapshots_and_traces.snapshots.stacks import Frame

# ---- Blocks of memory with their lifetimes, and what is alive at a moment, by kind.

KINDS = (
    "parameter",
    "half copy",
    "gradient",
    "optimizer state",
    "activation",
    "input",
    "temporary",
)


@dataclass(eq=False, slots=True)
class Storage:
    """One block of memory, from the event that made it to the one that freed it.

    `born` and `died` count events; 0 is "before the count began", `died` None "still alive".
    `phase` is "before", "forward", "backward" or "step"; `op` the operator that made it; `frames`
    the Python frames that called it, innermost first, where the count keeps them; of a file's path
    they have the last two parts.
    """

    n_bytes: int
    born: int
    phase: str
    op: str
    device: torch.device
    kind: str | None = None
    died: int | None = None
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Moment:
    """The live bytes by kind after event `index`, in `phase`, made by operator `op`."""

    index: int
    phase: str
    op: str
    n_bytes: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.n_bytes.values())


def moments_of(storages: Sequence[Storage]) -> Iterator[Moment]:
    """The live bytes by kind before the first event and after each, in order."""
    live = Counter(dict.fromkeys(KINDS, 0))
    events: dict[int, tuple[Storage, int]] = {}
    for storage in storages:
        if storage.born:
            events[storage.born] = storage, storage.n_bytes
        else:
            live[storage.kind or "temporary"] += storage.n_bytes
        if storage.died:
            events[storage.died] = storage, -storage.n_bytes
    yield Moment(0, "before", "", dict(live))
    phase = "before"
    for index in sorted(events):
        storage, n_bytes = events[index]
        live[storage.kind or "temporary"] += n_bytes
        if n_bytes > 0:
            phase = storage.phase
        yield Moment(index, phase, storage.op, dict(live))


HERE, TORCH = Path(__file__), Path(torch.__file__).parent


class count(TorchDispatchMode):
    """Counts the storages of the code in the `with` block, and sorts them by kind.

    parameter: `model`'s (and its buffers). half copy: a parameter cast to fewer bytes (autocast
    caches these). gradient: a parameter's `.grad`. optimizer state: what `optimizer.state` holds.
    activation: made while autograd recorded, and alive when a backward operator ran. input: there
    before and read by an operator, or named in `inputs`. temporary: the rest.

    `device` (a type, "cpu" or "cuda") leaves storages of other devices out; None counts all. With
    `frames`, each storage keeps who asked for it (not torch's own frames).
    Raises: TypeError for a model or optimizer that isn't one; RuntimeError for a result asked for
    inside the block.
    """

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        inputs: Any = (),
        device: str | None = None,
        frames: bool = False,
    ) -> None:
        super().__init__()
        _check(model, optimizer)
        self.storages: list[Storage] = []
        self._model, self._optimizer, self._inputs, self._device = model, optimizer, inputs, device
        self._alive: dict[int, tuple[Storage, weakref.ref[Any]]] = {}
        self._recorded: list[Storage] = []
        self._events = 0
        self._stepping = 0
        self._hooks = ExitStack()
        self._keeps_frames = frames
        self._moments: list[Moment] | None = None

    def __enter__(self) -> Self:
        self.watch(self._model, self._optimizer, self._inputs)
        return super().__enter__()

    def watch(
        self,
        model: torch.nn.Module | None,
        optimizer: torch.optim.Optimizer | None = None,
        inputs: Any = (),
    ) -> None:
        """Sorts by these from now on: for a model that is built inside the block.

        What was made before is of phase "before", and input where neither of them owns it.
        Raises: TypeError as for `count`.
        """
        _check(model, optimizer)
        self._model, self._optimizer = model, optimizer
        self._hooks.close()
        self._recorded.clear()
        for storage in self.storages:
            storage.phase, storage.kind = "before", "temporary" if storage.died else "input"
        self._adopt(self._parameters(), "parameter")
        self._sort_by_owner()
        self._adopt(_tensors(inputs), "input")
        for parameter in self._parameters():
            if parameter.requires_grad and parameter.is_leaf:
                hook = parameter.register_post_accumulate_grad_hook(
                    lambda p: self._adopt([p.grad], "gradient")
                )
                self._hooks.callback(hook.remove)
        if self._optimizer:
            before = self._optimizer.register_step_pre_hook(lambda *_: self._step(True))
            after = self._optimizer.register_step_post_hook(lambda *_: self._step(False))
            self._hooks.callback(before.remove)
            self._hooks.callback(after.remove)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._hooks.close()
        self._sort_by_owner()
        self._moments = list(moments_of(self.storages))
        self._alive.clear()
        self._recorded.clear()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        taken = list(_tensors((args, kwargs)))
        self._adopt(taken, "input", known=False)
        result = func(*args, **(kwargs or {}))
        phase = self._phase()
        if phase == "backward":
            self._mark_activations()
        for tensor in _tensors(result):
            storage = self._born(tensor, str(func), phase)
            if storage and self._casts_a_parameter(func, taken, tensor):
                storage.kind = "half copy"
            elif storage and phase == "forward" and torch.is_grad_enabled():
                self._recorded.append(storage)
        return result

    @property
    def moments(self) -> list[Moment]:
        """The live bytes by kind after every allocation and free, in order."""
        if self._moments is None:
            raise RuntimeError("what was counted is known after the `with` block: dedent this line")
        return self._moments

    @property
    def peak(self) -> Moment:
        """The moment that holds the most bytes, the first of several."""
        return max(self.moments, key=lambda moment: moment.total)

    def before(self, phase: str) -> Moment:
        """The last moment before `phase` ("backward", "step") first made something.

        Raises: ValueError where it made nothing.
        """
        for earlier, later in pairwise(self.moments):
            if later.phase == phase:
                return earlier
        raise ValueError(f"nothing was made in phase {phase!r}")

    def kept(self, kind: str) -> int:
        """The most bytes that storages of this kind held at one time; ValueError for no kind."""
        if kind not in KINDS:
            raise ValueError(f"no kind {kind!r}; there are {', '.join(KINDS)}")
        return max(moment.n_bytes[kind] for moment in self.moments)

    def _phase(self) -> str:
        if self._stepping:
            return "step"
        in_backward = torch._C._current_graph_task_id() >= 0 and not torch.is_grad_enabled()
        return "backward" if in_backward else "forward"

    def _step(self, begins: bool) -> None:
        self._stepping += 1 if begins else -1  # an optimizer's step may call its parent's
        if not begins:
            self._sort_by_owner()

    def _parameters(self) -> list[Any]:
        if self._model is None:
            return []
        return [*self._model.parameters(), *self._model.buffers()]

    def _sort_by_owner(self) -> None:
        self._adopt((p.grad for p in self._parameters()), "gradient")
        if self._optimizer:
            self._adopt(_tensors(list(self._optimizer.state.values())), "optimizer state")

    def _adopt(self, tensors: Iterable[Any], kind: str, known: bool = True) -> None:
        """Gives the tensors' storages a kind; one never seen was there before the count began."""
        for tensor in tensors:
            if tensor is None or not self._counts(tensor):
                continue
            found = self._alive.get(tensor.untyped_storage()._cdata)
            if found is None:
                self._follow(tensor, Storage(0, 0, "before", "", tensor.device, kind))
            elif known:
                found[0].kind = kind

    def _born(self, tensor: torch.Tensor, op: str, phase: str) -> Storage | None:
        """A new Storage where the operator made one; None where it wrote into one that exists."""
        if not self._counts(tensor) or tensor.untyped_storage()._cdata in self._alive:
            return None
        self._events += 1
        made = self._follow(tensor, Storage(0, self._events, phase, op, tensor.device))
        if self._keeps_frames:
            made.frames = tuple(_frames())
        return made

    def _follow(self, tensor: torch.Tensor, storage: Storage) -> Storage:
        block = tensor.untyped_storage()
        storage.n_bytes = block.nbytes()
        key = block._cdata
        self._alive[key] = storage, weakref.ref(block, lambda _: self._died(key, storage))
        self.storages.append(storage)
        return storage

    def _died(self, key: int, storage: Storage) -> None:
        self._events += 1
        storage.died = self._events
        self._alive.pop(key, None)

    def _counts(self, tensor: torch.Tensor) -> bool:
        return self._device is None or tensor.device.type == self._device

    def _mark_activations(self) -> None:
        """Marks what the forward pass made as activations if it lives until a backward operator."""
        for storage in self._recorded:
            if storage.died is None and storage.kind is None:
                storage.kind = "activation"
        self._recorded.clear()

    def _casts_a_parameter(self, func: Any, taken: list[Any], made: torch.Tensor) -> bool:
        if func is not torch.ops.aten._to_copy.default or not taken:
            return False
        found = self._alive.get(taken[0].untyped_storage()._cdata)
        smaller = made.element_size() < taken[0].element_size()
        return bool(found and found[0].kind == "parameter" and smaller)


def _check(model: Any, optimizer: Any) -> None:
    if not isinstance(model, torch.nn.Module | None):
        raise TypeError(f"count wants the model first, a torch.nn.Module, not {model!r:.60}")
    if not isinstance(optimizer, torch.optim.Optimizer | None):
        raise TypeError(f"count's second argument is an optimizer, not {optimizer!r:.60}")


def _tensors(tree: Any) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor))


def _frames() -> Iterator[Frame]:
    frame = sys._getframe(1)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path != HERE and TORCH not in path.parents:
            yield Frame(frame.f_code.co_name, "/".join(path.parts[-2:]), frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
