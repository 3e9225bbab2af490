"""A pretended CUDA GPU: what runs on one runs on the processor, and knows where it is.

It rehearses the Python of a GPU's path where there is no GPU. Every storage that was made on
"cuda" is remembered, through copies, autograd and C++, by a torch dispatch mode; so
`tensor.device` says cuda, tensors of two devices in one operator are the error they are on a GPU,
numpy refuses, and the bytes allocated are counted. What is too much work isn't done: large
tensors are memory that is never touched, and a large product's result is ones. Streams, events
and graphs are there and do nothing. No time and no value that it gives means anything.
"""

import contextlib
import math
import os
import threading
import time
import weakref
from collections import defaultdict
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Any

LARGE_BYTES = 4 * 2**20  # tensors over this aren't computed
LARGE_WORK = 2e8  # nor products of more floating-point operations
COUNT = int(os.environ.get("PRETEND_GPU") or 0)
# name: capability, bytes, multiprocessors, bytes of L2
GPUS = {
    "NVIDIA H200": ((9, 0), 150_754_820_096, 132, 62_914_560),
    "NVIDIA A100-SXM4-80GB": ((8, 0), 85_094_825_984, 108, 41_943_040),
    "NVIDIA GeForce RTX 3090": ((8, 6), 25_438_126_080, 82, 6_291_456),
    "Tesla V100-SXM2-16GB": ((7, 0), 16_935_682_048, 80, 6_291_456),
    "Tesla T4": ((7, 5), 15_835_660_288, 40, 4_194_304),
}
NAME = os.environ.get("PRETEND_GPU_NAME", "NVIDIA H200")
CAPABILITY, MEMORY, MULTIPROCESSORS, L2 = GPUS[NAME]
MAY_MIX = (  # operators that take tensors of several devices on a GPU too
    "copy_", "_to_copy", "index", "index_put", "_index_put_impl_", "_foreach_copy_", "set_",
    "_local_scalar_dense", "_pin_memory", "is_pinned", "_has_compatible_shallow_copy_type",
)  # fmt: skip
PRODUCTS = (
    "mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "_scaled_mm", "convolution",
    "convolution_backward", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward", "_scaled_dot_product_attention_math",
)  # fmt: skip


class Memory:
    """Which storages are on which GPU, and the bytes that each GPU has held."""

    def __init__(self) -> None:
        self.where: dict[int, int] = {}
        self.pinned: set[int] = set()
        self.bytes: dict[int, int] = defaultdict(int)
        self.peak: dict[int, int] = defaultdict(int)
        self.current = 0
        self.leaving = False  # whether a copy to the host is under way
        self.initialized = False

    def put(self, tensor: Any, index: int) -> Any:
        """Notes that a tensor's storage is on GPU `index`, until it is freed."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        self.initialized = True
        if key not in self.where:
            n_bytes = -(-storage.nbytes() // 512) * 512
            self.where[key] = index
            self.bytes[index] += n_bytes
            self.peak[index] = max(self.peak[index], self.bytes[index])
            weakref.finalize(storage, self._free, key, index, n_bytes)
        return tensor

    def _free(self, key: int, index: int, n_bytes: int) -> None:
        self.where.pop(key, None)
        self.bytes[index] -= n_bytes

    def pin(self, tensor: Any) -> Any:
        """Notes that a tensor's storage is pinned host memory."""
        storage = tensor.untyped_storage()
        self.pinned.add(storage._cdata)
        weakref.finalize(storage, self.pinned.discard, storage._cdata)
        return tensor

    def of(self, tensor: Any) -> int | None:
        """The GPU of a tensor, None for the host's."""
        try:
            return self.where.get(tensor.untyped_storage()._cdata)
        except (NotImplementedError, RuntimeError):
            return None  # no storage: sparse, meta, fake

    def is_pinned(self, tensor: Any) -> bool:
        try:
            return tensor.untyped_storage()._cdata in self.pinned
        except (NotImplementedError, RuntimeError):
            return False


MEMORY_OF = Memory()


def index_of(device: Any, torch: Any) -> int | None:
    """The number of a CUDA device in any of its spellings; None for another device."""
    if isinstance(device, bool) or device is None:
        return None
    if isinstance(device, int):
        return device
    device = torch.device(device)
    if device.type != "cuda":
        return None
    return MEMORY_OF.current if device.index is None else device.index


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
    _change_cuda(torch)
    _change_precision(torch, is_faking)
    _change_groups(torch)
    enter()


class About:
    """What there is to know of an operator once."""

    known: dict[Any, "About"] = {}

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
        if func not in cls.known:
            cls.known[func] = cls(func)
        return cls.known[func]

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


def _made_on_the_host_first(torch: Any, plain: Any, is_faking: Any) -> Any:
    @wraps(plain)
    def make(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is None:
            device = torch.get_default_device()
        if index_of(device, torch) is None or is_faking():
            return plain(*args, **kwargs)
        with torch.device("cpu"):
            made = plain(*args, **kwargs | {"device": "cpu"})
        return made.to(device)

    return make


class Stream:
    """A queue that is always empty."""

    def __init__(self, device: Any = None, priority: int = 0, **_kwargs: Any) -> None:
        import torch

        index = MEMORY_OF.current if device is None else index_of(device, torch)
        self.device = torch.device("cuda", index or 0)
        self.cuda_stream, self.priority = id(self), priority

    def synchronize(self) -> None: ...

    def wait_event(self, event: Any) -> None:
        event.check()

    def wait_stream(self, stream: Any) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, event: Any = None) -> Any:
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None: ...


class Event:
    """A moment on the host's clock."""

    def __init__(self, enable_timing: bool = False, **_kwargs: Any) -> None:
        self.timing, self.at = enable_timing, math.nan

    def check(self) -> None: ...

    def record(self, stream: Any = None) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None: ...

    def wait(self, stream: Any = None) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: "Event") -> float:
        if not (self.timing and other.timing) or math.isnan(other.at - self.at):
            raise ValueError("Both events must be recorded, with enable_timing=True. (pretended)")
        return max((other.at - self.at) * 1e3, 1e-4)


def _change_cuda(torch: Any) -> None:
    cuda, kept = torch.cuda, {"sync_debug": 0}
    now = [Stream()]

    @contextlib.contextmanager
    def on_stream(stream: Any) -> Any:
        now.append(stream or now[0])
        try:
            yield
        finally:
            now.pop()

    @contextlib.contextmanager
    def on_device(device: Any) -> Any:
        before = MEMORY_OF.current
        set_device(device)
        try:
            yield
        finally:
            MEMORY_OF.current = before

    def which(device: Any = None) -> int:
        index = MEMORY_OF.current if device is None else index_of(device, torch)
        if index is None or not 0 <= index < COUNT:
            raise RuntimeError(f"CUDA error: invalid device ordinal {device} (pretended)")
        return index

    def set_device(device: Any) -> None:
        MEMORY_OF.current = which(device)

    def initialize() -> None:
        MEMORY_OF.initialized = True

    def reset_peak(device: Any = None) -> None:
        MEMORY_OF.peak[which(device)] = MEMORY_OF.bytes[which(device)]

    def reserved(n_bytes: int) -> int:
        return -(-n_bytes // (2 * 2**20)) * 2 * 2**20

    def properties(device: Any = None) -> Any:
        which(device)
        return SimpleNamespace(
            name=NAME, major=CAPABILITY[0], minor=CAPABILITY[1], total_memory=MEMORY,
            multi_processor_count=MULTIPROCESSORS, L2_cache_size=L2, warp_size=32,
            max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536,
            shared_memory_per_multiprocessor=233472, shared_memory_per_block_optin=232448,
            pci_bus_id=1, pci_device_id=0, pci_domain_id=0, uuid="pretended",
            clock_rate=1_980_000, memory_clock_rate=3_201_000, memory_bus_width=6016,
        )  # fmt: skip

    def bf16(including_emulation: bool = True) -> bool:
        return including_emulation or CAPABILITY >= (8, 0)

    def free(device: Any = None) -> tuple[int, int]:
        return MEMORY - 600_000_000 - reserved(MEMORY_OF.bytes[which(device)]), MEMORY

    def set_sync_debug(level: Any) -> None:
        kept["sync_debug"] = {"default": 0, "warn": 1, "error": 2}.get(level, level)

    answers = {
        "is_available": lambda: True, "device_count": lambda: COUNT, "init": initialize,
        "is_initialized": lambda: MEMORY_OF.initialized, "_lazy_init": initialize,
        "current_device": lambda: MEMORY_OF.current, "set_device": set_device,
        "current_stream": lambda device=None: now[-1], "stream": on_stream, "device": on_device,
        "default_stream": lambda device=None: now[0], "set_stream": lambda s: now.append(s),
        "synchronize": lambda device=None: None if which(device) is None else None,
        "empty_cache": lambda: None, "ipc_collect": lambda: None,
        "get_device_name": lambda device=None: NAME, "get_device_properties": properties,
        "get_device_capability": lambda device=None: CAPABILITY, "is_bf16_supported": bf16,
        "mem_get_info": free, "get_sync_debug_mode": lambda: kept["sync_debug"],
        "set_sync_debug_mode": set_sync_debug, "_sleep": lambda cycles: None,
        "manual_seed": lambda seed: None, "manual_seed_all": lambda seed: None,
        "memory_allocated": lambda device=None: MEMORY_OF.bytes[which(device)],
        "max_memory_allocated": lambda device=None: MEMORY_OF.peak[which(device)],
        "memory_reserved": lambda device=None: reserved(MEMORY_OF.bytes[which(device)]),
        "max_memory_reserved": lambda device=None: reserved(MEMORY_OF.peak[which(device)]),
        "reset_peak_memory_stats": reset_peak, "utilization": lambda device=None: 100,
        "reset_accumulated_memory_stats": lambda device=None: None,
        "memory_stats": lambda device=None: defaultdict(int),
        "can_device_access_peer": lambda a, b: True, "get_arch_list": lambda: ["sm_90"],
        "get_rng_state": lambda device="cuda": torch.get_rng_state(),
        "set_rng_state": lambda state, device="cuda": None,
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(cuda, name, answer)
        for room in (cuda.memory, cuda.random):
            if hasattr(room, name):
                setattr(room, name, answer)
    cuda.Stream, cuda.Event = Stream, Event
    cuda.streams.Stream, cuda.streams.Event = Stream, Event
    cuda.nccl.version = lambda: (2, 28, 9)
    torch.version.cuda = torch.version.cuda or "13.0"
    torch._C._cuda_clearCublasWorkspaces = lambda: None
    _change_history(torch)


def _change_history(torch: Any) -> None:
    """`_record_memory_history` and what it gives: made by the course's own allocator."""
    watching: dict[str, Any] = {}

    def record_history(enabled: Any = "all", *_args: Any, **_kwargs: Any) -> None:
        from course_utils import memory

        if enabled and "count" not in watching:
            watching["count"] = memory.count(device="cuda", frames=True)
            watching["count"].__enter__()
        elif not enabled and "count" in watching:
            watching.pop("count").__exit__(None, None, None)

    def snapshot(device: Any = None, *_args: Any, **_kwargs: Any) -> Any:
        from course_utils import made_snapshots

        count = watching.get("count")
        storages = count._storages_so_far() if hasattr(count, "_storages_so_far") else []
        if count is not None:
            storages = list(vars(count)["storages"])
        return made_snapshots.of_storages(storages)

    def dump(path: Any = "dump_snapshot.pickle", *_args: Any, **_kwargs: Any) -> None:
        import pickle
        from pathlib import Path

        Path(path).write_bytes(pickle.dumps(snapshot(), protocol=4))

    torch.cuda.memory._record_memory_history = record_history
    torch.cuda.memory._snapshot = snapshot
    torch.cuda.memory._dump_snapshot = dump


def _change_precision(torch: Any, is_faking: Any) -> None:
    plain_autocast, plain_generator = torch.amp.autocast_mode.autocast, torch.Generator

    class autocast(plain_autocast):  # type: ignore[misc,valid-type]
        """Autocast on a pretended GPU is the processor's; fake tensors keep CUDA's own."""

        def __init__(self, device_type: str, dtype: Any = None, **kwargs: Any) -> None:
            if torch.device(device_type).type == "cuda" and not is_faking():
                super().__init__("cpu", dtype or torch.float16, **kwargs)
            else:
                super().__init__(device_type, dtype, **kwargs)

    class Generator(plain_generator):  # type: ignore[misc,valid-type]
        def __new__(cls, device: Any = "cpu") -> Any:
            return plain_generator.__new__(cls, "cpu")

    torch.autocast = torch.amp.autocast = torch.amp.autocast_mode.autocast = autocast
    torch.Generator = Generator


def _change_groups(torch: Any) -> None:
    """NCCL is gloo here, with a device of its own name."""
    dist = torch.distributed
    if not dist.is_available():
        return
    from torch.distributed import distributed_c10d as c10d

    plain_init = c10d.init_process_group

    def init(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        return plain_init("gloo" if "nccl" in str(backend) else backend, *args, **kwargs)

    for room in (dist, c10d):
        room.init_process_group = init
    dist.is_nccl_available = lambda: True


def hurry(timing: ModuleType) -> None:
    """The course's clock with a hundredth of its patience: no time here means anything."""
    plain_repeat, plain_rounds = timing._repeat, timing.measure_rounds

    def repeat(once: Any, how: Any) -> Any:
        clock, budget, precision, _least, bound = how
        return plain_repeat(once, (clock, min(budget, 0.002), precision, 2, bound))

    def rounds(one_round: Any, times: int = 9, unit: str = "seconds") -> Any:
        return plain_rounds(one_round, min(times, 2), unit)

    timing._repeat, timing.measure_rounds = repeat, wraps(plain_rounds)(rounds)
    timing.PATIENCE, timing.REPETITION_SECONDS, timing.BLOCK_SECONDS = 1, 1e-6, 0.0


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
