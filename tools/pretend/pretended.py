"""A pretended CUDA GPU: what runs on one runs on the processor, and knows where it is.

It rehearses the Python of a GPU's path where there is no GPU. Every storage that was made on
"cuda" is remembered, through copies, autograd and C++, by a torch dispatch mode; so
`tensor.device` says cuda, tensors of two devices in one operator are the error they are on a GPU,
numpy refuses, and the bytes allocated are counted. What is too much work isn't done: large
tensors are memory that is never touched, and a large product's result is ones. Streams, events
and graphs are there and do nothing. No time and no value that it gives means anything.
"""

import math
import threading
from functools import wraps
from types import ModuleType
from typing import Any

from pretended_cuda import change_cuda, change_groups, change_precision
from pretended_memory import COUNT, MEMORY_OF, index_of

LARGE_BYTES = 4 * 2**20  # tensors over this aren't computed
LARGE_WORK = 2e8  # nor products of more floating-point operations
MAY_MIX = (  # operators that take tensors of several devices on a GPU too
    "copy_", "_to_copy", "index", "index_put", "_index_put_impl_", "_foreach_copy_", "set_",
    "_local_scalar_dense", "_pin_memory", "is_pinned", "_has_compatible_shallow_copy_type",
)  # fmt: skip
PRODUCTS = (
    "mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "_scaled_mm", "_scaled_mm_v2",
    "convolution", "convolution_backward", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward", "_scaled_dot_product_attention_math",
)  # fmt: skip


def change_torch(torch: Any) -> None:
    """Makes an imported torch believe in COUNT GPUs."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

    def is_faking() -> bool:
        return any(isinstance(m, FakeTensorMode) for m in _get_current_dispatch_mode_stack())

    class Pretending(TorchDispatchMode):
        """Sees every operator below autograd: places its results, and skips what is too much."""

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            tensors = _tensors(torch.Tensor, args, kwargs)
            if any(isinstance(t, FakeTensor) or t.is_meta for t in tensors):
                return func(*args, **kwargs or {})
            about = About.of(func)
            kwargs = dict(kwargs or {})
            wanted = kwargs.get("device")
            target = None if wanted is None else index_of(wanted, torch)
            if target is not None:
                if target >= COUNT:
                    raise RuntimeError("CUDA error: invalid device ordinal (pretended)")
                kwargs["device"] = torch.device("cpu")
            pins = bool(kwargs.get("pin_memory"))
            if pins:
                kwargs["pin_memory"] = False
            found_at = [(t, MEMORY_OF.of(t)) for t in tensors]
            on_gpu = {place for _, place in found_at} - {None}
            # C++ takes every tensor for the host's: "cpu" beside one of a GPU's means "here"
            if target is None and on_gpu and not (MEMORY_OF.leaving and wanted is not None):
                mixed = len(on_gpu) > 1 or any(p is None and t.dim() for t, p in found_at)
                if mixed and not about.may_mix and torch._C._current_graph_task_id() == -1:
                    raise RuntimeError(_two_devices(about.name, {p for _, p in found_at}))
                first = found_at[0][1] if about.name in ("index", "_pin_memory") else None
                target = first if about.name in ("index", "_pin_memory") else min(on_gpu)
            if not (on_gpu or target is not None or pins or any(map(MEMORY_OF.is_pinned, tensors))):
                return func(*args, **kwargs)
            found = _work(torch, func, about, args, kwargs, tensors)
            for one in _tensors(torch.Tensor, (found,), None):
                if target is not None:
                    _place(one, target, tensors)
                elif pins:
                    MEMORY_OF.pin(one)
            return found

    mode = Pretending()

    def enter() -> None:
        if mode not in _get_current_dispatch_mode_stack():
            mode.__enter__()

    run = threading.Thread.run

    def run_pretending(self: threading.Thread) -> None:
        enter()
        run(self)

    threading.Thread.run = run_pretending  # type: ignore[method-assign]
    _change_tensors(torch, is_faking)
    change_cuda(torch)
    change_precision(torch, is_faking)
    change_groups(torch)
    enter()


_about: dict[Any, "About"] = {}


class About:
    """What there is to know of an operator once."""

    def __init__(self, func: Any) -> None:
        self.name = func._schema.name.rpartition(":")[2]
        self.may_mix = self.name in MAY_MIX or func.namespace != "aten"
        self.is_product = self.name in PRODUCTS
        self.computes_nothing = func.is_view or self.name in ("_local_scalar_dense", "set_")
        self.returns = len(func._schema.returns)
        self.writes = [
            (place, argument.name)
            for place, argument in enumerate(func._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]

    @classmethod
    def of(cls, func: Any) -> "About":
        if func not in _about:
            _about[func] = cls(func)
        return _about[func]

    def written(self, args: Any, kwargs: Any) -> list[Any]:
        """The arguments that the operator writes into."""
        found = [args[p] if p < len(args) else kwargs.get(name) for p, name in self.writes]
        return [one for one in found if one is not None]


def _tensors(kind: type, args: Any, kwargs: Any) -> list[Any]:
    """The tensors among the arguments, in lists too."""
    found = []
    for one in (*args, *(kwargs or {}).values()):
        if isinstance(one, kind):
            found.append(one)
        elif isinstance(one, list | tuple):
            found += [each for each in one if isinstance(each, kind)]
    return found


def _two_devices(name: str, places: set[int | None]) -> str:
    shown = " and ".join(sorted("cpu" if p is None else f"cuda:{p}" for p in places))
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{shown}! (pretended, in {name})"
    )


def _place(tensor: Any, target: int, inputs: list[Any]) -> None:
    """Puts a new storage on its GPU; what an operator only hands back stays where it was."""
    key = tensor.untyped_storage()._cdata
    if all(key != t.untyped_storage()._cdata for t in inputs):
        MEMORY_OF.put(tensor, target)


def _work(torch: Any, func: Any, about: About, args: Any, kwargs: Any, tensors: list[Any]) -> Any:
    """An operator's result, computed where that is little work, else of the right shape."""
    if about.computes_nothing:
        return func(*args, **kwargs)
    if not tensors:
        shape = args[0] if args and isinstance(args[0], list | tuple) else ()
        if math.prod(shape) * 4 <= LARGE_BYTES:
            return func(*args, **kwargs)
        return torch.empty(shape, dtype=kwargs.get("dtype") or torch.get_default_dtype())
    size = max(t.nbytes for t in tensors)
    if about.name == "_scaled_mm" and size <= LARGE_BYTES:
        left, right, by_left, by_right = (t.float() for t in args[:4])
        return ((left * by_left) @ (right * by_right)).to(kwargs.get("out_dtype") or torch.float32)
    work = _products_work(tensors) if about.is_product else 0
    if size <= LARGE_BYTES and work <= LARGE_WORK:
        return func(*args, **kwargs)
    written = about.written(args, kwargs)
    if not written:
        return _ones_like_meta(torch, func, args, kwargs)
    return None if about.returns == 0 else written[0] if about.returns == 1 else tuple(written)


def _products_work(tensors: list[Any]) -> float:
    sizes = sorted(t.numel() for t in tensors)
    widest = max((t.shape[-1] for t in tensors if t.dim()), default=1)
    return 2.0 * sizes[-1] * widest


def _ones_like_meta(torch: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Ones of the shapes that the operator would give: meta tensors tell them."""
    from torch.utils._pytree import tree_map_only

    def as_meta(t: Any) -> Any:
        return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")

    def as_ones(t: Any) -> Any:
        made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cpu")
        return made.fill_(1) if made.nbytes <= LARGE_BYTES else made

    metas = tree_map_only(torch.Tensor, as_meta, (args, kwargs))
    if metas[1].get("device") is not None:
        metas[1]["device"] = torch.device("meta")
    return tree_map_only(torch.Tensor, as_ones, func(*metas[0], **metas[1]))


def _change_tensors(torch: Any, is_faking: Any) -> None:
    tensor, base = torch.Tensor, torch._C.TensorBase
    plain_device, plain_numpy, plain_pinned = base.device, tensor.numpy, tensor.is_pinned
    plain_to = tensor.to

    def device(self: Any) -> Any:
        index = MEMORY_OF.of(self)
        return plain_device.__get__(self) if index is None else torch.device("cuda", index)

    def refuse(self: Any) -> None:
        if (index := MEMORY_OF.of(self)) is not None:
            raise TypeError(
                f"can't convert cuda:{index} device type tensor to numpy. Use Tensor.cpu() to copy "
                "the tensor to host memory first. (pretended)"
            )

    def numpy(self: Any, *args: Any, **kwargs: Any) -> Any:
        refuse(self)
        return plain_numpy(self, *args, **kwargs)

    def as_array(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        found = numpy(self)
        return found if dtype is None else found.astype(dtype, copy=False)

    def pin(self: Any, *_args: Any, **_kwargs: Any) -> Any:
        if MEMORY_OF.of(self) is not None:
            raise RuntimeError(
                "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"
            )
        return MEMORY_OF.pin(self.clone())

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        wanted, others = _spelled_out(torch, args, kwargs)
        if is_faking() or wanted is None or torch.device(wanted).type not in ("cpu", "cuda"):
            return plain_to(self, *args, **kwargs)
        target, here = index_of(wanted, torch), MEMORY_OF.of(self)
        if target == here:
            return plain_to(self, **others) if others else self
        place = "cpu" if target is None else f"cuda:{target}"
        MEMORY_OF.leaving = target is None
        try:
            found = plain_to(self, device=place, **others | {"copy": True})
        finally:
            MEMORY_OF.leaving = False
        return MEMORY_OF.pin(found) if target is None and others.get("non_blocking") else found

    def to_cuda(self: Any, device: Any = None, non_blocking: bool = False, **_: Any) -> Any:
        index = MEMORY_OF.current if device is None else index_of(device, torch)
        return to(self, torch.device("cuda", index), non_blocking=non_blocking)

    tensor.device = property(device)
    tensor.is_cuda = property(lambda self: MEMORY_OF.of(self) is not None)
    tensor.get_device = lambda self: -1 if (found := MEMORY_OF.of(self)) is None else found
    tensor.numpy, tensor.__array__ = numpy, as_array
    tensor.pin_memory = pin
    tensor.is_pinned = lambda self, *a: MEMORY_OF.is_pinned(self) or plain_pinned(self)
    tensor.record_stream = lambda self, stream: None
    tensor.to, tensor.cuda = to, to_cuda
    tensor.cpu = lambda self, *args, **kwargs: to(self, "cpu", *args, **kwargs)
    for name in ("tensor", "as_tensor", "asarray"):
        setattr(torch, name, _made_on_the_host_first(torch, getattr(torch, name), is_faking))


def _spelled_out(torch: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """The device of a call of `Tensor.to` (None for none), and its other arguments by name."""
    first = args[0] if args else None
    if isinstance(first, torch.Tensor):
        args, kwargs = args[1:], kwargs | {"dtype": first.dtype, "device": first.device}
    elif isinstance(first, str | torch.device) or type(first) is int:
        args, kwargs = args[1:], kwargs | {"device": first}
    elif args and first is None:
        args = args[1:]
    names = ("dtype", "non_blocking", "copy")
    if args and not isinstance(args[0], torch.dtype | None):
        names = names[1:]
    kwargs = kwargs | dict(zip(names, args, strict=False))
    return kwargs.pop("device", None), {k: v for k, v in kwargs.items() if v is not None}


def _default_device() -> Any:
    """That of `with torch.device(...)`; torch's own `get_default_device` would make a tensor."""
    from torch.overrides import _get_current_function_mode_stack
    from torch.utils._device import DeviceContext

    modes = [m for m in _get_current_function_mode_stack() if isinstance(m, DeviceContext)]
    return modes[-1].device if modes else "cpu"


def _made_on_the_host_first(torch: Any, plain: Any, is_faking: Any) -> Any:
    @wraps(plain)
    def make(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device") or _default_device()
        if index_of(device, torch) is None or is_faking():
            return plain(*args, **kwargs)
        with torch.device("cpu"):
            made = plain(*args, **kwargs | {"device": "cpu"})
        return made.to(device)

    return make


def hurry(timing: ModuleType) -> None:
    """The course's clock with a hundredth of its patience: no time here means anything."""
    plain_repeat, plain_rounds = timing._repeat, timing.measure_rounds

    def repeat(once: Any, clock: str, budget: float, precision: float) -> Any:
        return plain_repeat(once, clock, min(budget, 0.002), precision)

    def rounds(one_round: Any, times: int = 9, unit: str = "seconds") -> Any:
        return plain_rounds(one_round, min(times, 2), unit)

    timing._repeat, timing.measure_rounds = repeat, wraps(plain_rounds)(rounds)
    timing.PATIENCE, timing.REPETITION_SECONDS, timing.BLOCK_SECONDS = 1, 1e-6, 0.0
    timing.LEAST_REPETITIONS = 2


def let_claims_fail(claims: ModuleType) -> None:
    """A claim that fails on a GPU of pretence is a line, and the cell goes on."""
    plain = claims.claim

    @wraps(plain)
    def claim(*args: Any, **kwargs: Any) -> None:
        try:
            plain(*args, **kwargs)
        except claims.ClaimError as failed:
            print(f"(pretended) {failed}")

    claims.claim = claim


def let_losses_be_anything(recipes: ModuleType) -> None:
    """What large tensors hold was never computed, so a loss is a NaN once in many runs."""
    recipes.refuse_nan = lambda loss: None


def take_few_cases(recording: ModuleType) -> None:
    """The first and the last row of an experiment of many rows."""
    plain = recording.record_each

    @wraps(plain)
    def record_each(experiment: str, cases: Any, *args: Any, **kwargs: Any) -> Any:
        cases = list(cases)
        return plain(experiment, cases[:1] + cases[1:][-1:], *args, **kwargs)

    recording.record_each = record_each


def call_once(collectives: ModuleType) -> None:
    """A loop between two events is one call, after one that warms up."""
    plain = collectives.gpu_seconds

    @wraps(plain)
    def gpu_seconds(work: Any, times: int, warm_up: int = 5, queued: bool = True) -> float:
        return plain(work, 1, 1, queued)

    collectives.gpu_seconds = gpu_seconds


def step_once(real_steps: ModuleType) -> None:
    """So are the steps of nn.DataParallel, which are timed by a loop of their own."""
    plain = real_steps.time_data_parallel

    @wraps(plain)
    def time_data_parallel(gpus: int, batch: int, times: int = 1) -> Any:
        return plain(gpus, batch, times)

    real_steps.time_data_parallel = time_data_parallel
