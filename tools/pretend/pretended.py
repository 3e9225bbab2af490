"""A pretended CUDA GPU: what runs on one runs on the processor, and knows where it is.

It rehearses the Python of a GPU's path where there is no GPU. Every storage that was made on
"cuda" is remembered, through copies, autograd and C++, by a torch dispatch mode; so
`tensor.device` says cuda, tensors of two devices in one operator are the error they are on a GPU,
numpy refuses, and the bytes allocated are counted. What is too much work isn't done: large
tensors are memory that is never touched, and a large product's result is ones. Streams, events
and graphs are there and do nothing. No time and no value that it gives means anything.
"""

import contextlib
import functools
import math
import os
import pickle
import sys
import threading
import time
import weakref
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_map_only

COUNT = int(os.environ["PRETEND_GPU"])
NAME = os.environ.get("PRETEND_GPU_NAME", "NVIDIA H200")
CAPABILITY, MEMORY, MULTIPROCESSORS, L2 = {
    "NVIDIA H200": ((9, 0), 150_754_820_096, 132, 62_914_560),
    "Tesla T4": ((7, 5), 15_835_660_288, 40, 4_194_304),
}[NAME]
LARGE_BYTES = 4 * 2**20  # tensors over this aren't computed
LARGE_WORK = 2e8  # nor products of more floating-point operations
MAY_MIX = {  # operators that take tensors of several devices on a GPU too
    "copy_", "_to_copy", "index", "index_put", "_index_put_impl_", "_foreach_copy_", "set_",
    "_local_scalar_dense", "_pin_memory", "is_pinned", "_has_compatible_shallow_copy_type",
}  # fmt: skip
PRODUCTS = {
    "mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "_scaled_mm", "_scaled_mm_v2",
    "convolution", "convolution_backward", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward", "_scaled_dot_product_attention_math",
}  # fmt: skip

where: dict[int, int] = {}  # the GPU of a storage, by the storage's address
pinned: set[int] = set()
held, peak = defaultdict(int), defaultdict(int)  # bytes of each GPU
now = SimpleNamespace(device=0, leaving=False, initialized=False, sync_debug=0)


def key_of(tensor):
    """The address of a tensor's storage; None where it has none: sparse, meta, fake."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


def place_of(tensor):
    """The GPU of a tensor, None for the host's."""
    return where.get(key_of(tensor))


def put(tensor, index):
    """Notes that a tensor's storage is on GPU `index`, until it is freed."""
    storage = tensor.untyped_storage()
    now.initialized = True
    if storage._cdata not in where:
        n_bytes = -(-storage.nbytes() // 512) * 512
        where[storage._cdata] = index
        held[index] += n_bytes
        peak[index] = max(peak[index], held[index])
        weakref.finalize(storage, freed, storage._cdata, index, n_bytes)


def freed(key, index, n_bytes):
    where.pop(key, None)
    held[index] -= n_bytes


def pin(tensor):
    """Notes that a tensor's storage is pinned host memory."""
    storage = tensor.untyped_storage()
    pinned.add(storage._cdata)
    weakref.finalize(storage, pinned.discard, storage._cdata)
    return tensor


def index_of(device):
    """The number of a CUDA device in any of its spellings; None for another device."""
    if device is None or isinstance(device, int):
        return device
    device = torch.device(device)
    here = now.device if device.index is None else device.index
    return here if device.type == "cuda" else None


def is_faking():
    return any(isinstance(m, FakeTensorMode) for m in _get_current_dispatch_mode_stack())


class Pretending(TorchDispatchMode):
    """Sees every operator below autograd: places its results, and skips what is too much."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        tensors = list(tensors_in(*args, *kwargs.values()))
        if any(isinstance(t, FakeTensor) or t.is_meta for t in tensors):
            return func(*args, **kwargs)
        name = name_of(func)
        wanted = kwargs.get("device")
        target = None if wanted is None else index_of(wanted)
        if target is not None:
            which(target)
            kwargs["device"] = torch.device("cpu")
        if pins := bool(kwargs.get("pin_memory")):
            kwargs["pin_memory"] = False
        found_at = [(t, place_of(t)) for t in tensors]
        on_gpu = {place for _, place in found_at} - {None}
        # C++ takes every tensor for the host's: "cpu" beside one of a GPU's means "here"
        if target is None and on_gpu and not (now.leaving and wanted is not None):
            mixed = len(on_gpu) > 1 or any(p is None and t.dim() for t, p in found_at)
            may_mix = name in MAY_MIX or func.namespace != "aten"
            if mixed and not may_mix and torch._C._current_graph_task_id() == -1:
                places = {"cpu" if p is None else f"cuda:{p}" for _, p in found_at}
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two "
                    f"devices, {' and '.join(sorted(places))}! (pretended, in {name})"
                )
            target = found_at[0][1] if name in ("index", "_pin_memory") else min(on_gpu)
        if not (on_gpu or target is not None or pins or any(key_of(t) in pinned for t in tensors)):
            return func(*args, **kwargs)
        found = work(func, name, args, kwargs, tensors)
        there = {key_of(t) for t in tensors}  # what is only handed back stays where it was
        for one in tensors_in(found):
            if target is not None and key_of(one) not in there:
                put(one, target)
            elif target is None and pins:
                pin(one)
        return found


@functools.cache
def name_of(func):
    return func._schema.name.rpartition(":")[2]


def tensors_in(*values):
    """The tensors among the values, in lists too."""
    for one in values:
        if isinstance(one, torch.Tensor):
            yield one
        elif isinstance(one, list | tuple):
            yield from tensors_in(*one)


def work(func, name, args, kwargs, tensors):
    """An operator's result, computed where that is little work, else of the right shape."""
    if func.is_view or name in ("_local_scalar_dense", "set_"):
        return func(*args, **kwargs)
    if not tensors:
        shape = args[0] if args and isinstance(args[0], list | tuple) else ()
        if math.prod(shape) * 4 <= LARGE_BYTES:
            return func(*args, **kwargs)
        return torch.empty(shape, dtype=kwargs.get("dtype") or torch.get_default_dtype())
    size = max(t.nbytes for t in tensors)
    if name == "_scaled_mm" and size <= LARGE_BYTES:
        left, right, by_left, by_right = (t.float() for t in args[:4])
        return ((left * by_left) @ (right * by_right)).to(kwargs.get("out_dtype") or torch.float32)
    widest = max((t.shape[-1] for t in tensors if t.dim()), default=1)
    too_much = name in PRODUCTS and 2 * max(t.numel() for t in tensors) * widest > LARGE_WORK
    if size <= LARGE_BYTES and not too_much:
        return func(*args, **kwargs)
    if not func._schema.is_mutable:
        return ones_like_meta(func, args, kwargs)
    named = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
    aliases = ((named.get(a.name), a.alias_info) for a in func._schema.arguments)
    written = [one for one, alias in aliases if alias and alias.is_write and one is not None]
    returns = len(func._schema.returns)
    return None if returns == 0 else written[0] if returns == 1 else tuple(written)


def ones_like_meta(func, args, kwargs):
    """Ones of the shapes that the operator would give: meta tensors tell them."""

    def as_meta(t):
        return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")

    def as_ones(t):
        made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cpu")
        return made.fill_(1) if made.nbytes <= LARGE_BYTES else made

    args, kwargs = tree_map_only(torch.Tensor, as_meta, (args, kwargs))
    if kwargs.get("device") is not None:
        kwargs["device"] = torch.device("meta")
    return tree_map_only(torch.Tensor, as_ones, func(*args, **kwargs))


def change_torch():
    """Makes torch believe in COUNT GPUs, in every thread."""
    mode, run = Pretending(), threading.Thread.run

    def run_pretending(self):
        with mode if mode not in _get_current_dispatch_mode_stack() else contextlib.nullcontext():
            run(self)

    threading.Thread.run = run_pretending
    change_tensors(torch.Tensor)
    change_cuda(torch.cuda)
    change_precision()
    change_groups(torch.distributed)
    mode.__enter__()


def change_tensors(tensor):
    plain_device, plain_numpy = torch._C.TensorBase.device, tensor.numpy
    plain_to, plain_pinned = tensor.to, tensor.is_pinned

    def device(self):
        index = place_of(self)
        return plain_device.__get__(self) if index is None else torch.device("cuda", index)

    def numpy(self, *args, **kwargs):
        if (index := place_of(self)) is not None:
            raise TypeError(f"can't convert cuda:{index} device type tensor to numpy. (pretended)")
        return plain_numpy(self, *args, **kwargs)

    def as_array(self, dtype=None, copy=None):
        found = numpy(self)
        return found if dtype is None else found.astype(dtype, copy=False)

    def pin_memory(self, *_args, **_kwargs):
        if place_of(self) is not None:
            raise RuntimeError("cannot pin a CUDA tensor: only dense CPU tensors (pretended)")
        return pin(self.clone())

    def to(self, *args, copy=False, **kwargs):
        if args and isinstance(args[0], torch.Tensor):
            args = (args[0].device, args[0].dtype, *args[1:])
        elif args and type(args[0]) is int:
            args = (f"cuda:{args[0]}", *args[1:])
        wanted, dtype, non_blocking, layout = torch._C._nn._parse_to(*args, **kwargs)
        if is_faking() or wanted is None or wanted.type not in ("cpu", "cuda"):
            return plain_to(self, *args, copy=copy, **kwargs)
        others = {"dtype": dtype, "memory_format": layout, "non_blocking": non_blocking}
        others = {name: value for name, value in others.items() if value}
        target = index_of(wanted)
        if target == place_of(self):
            return plain_to(self, copy=copy, **others) if others or copy else self
        now.leaving = target is None
        try:
            place = "cpu" if target is None else f"cuda:{target}"
            found = plain_to(self, device=place, copy=True, **others)
        finally:
            now.leaving = False
        return pin(found) if target is None and non_blocking else found

    def to_cuda(self, device=None, non_blocking=False):
        index = now.device if device is None else index_of(device)
        return to(self, torch.device("cuda", index), non_blocking=non_blocking)

    tensor.device, tensor.to, tensor.cuda = property(device), to, to_cuda
    tensor.is_cuda = property(lambda self: place_of(self) is not None)
    tensor.get_device = lambda self: -1 if (found := place_of(self)) is None else found
    tensor.numpy, tensor.__array__, tensor.pin_memory = numpy, as_array, pin_memory
    tensor.is_pinned = lambda self, *a: key_of(self) in pinned or plain_pinned(self)
    tensor.record_stream = lambda self, stream: None
    tensor.cpu = lambda self, *args, **kwargs: to(self, "cpu", *args, **kwargs)
    for name in ("tensor", "as_tensor", "asarray"):
        setattr(torch, name, made_on_the_host_first(getattr(torch, name)))


def made_on_the_host_first(plain):
    @functools.wraps(plain)
    def make(*args, **kwargs):
        modes = [m for m in _get_current_function_mode_stack() if isinstance(m, DeviceContext)]
        device = kwargs.get("device") or (modes[-1].device if modes else "cpu")
        if index_of(device) is None or is_faking():
            return plain(*args, **kwargs)
        with torch.device("cpu"):
            return plain(*args, **kwargs | {"device": "cpu"}).to(device)

    return make


class Stream(torch.cpu.Stream):
    """A queue that is always empty."""

    def __init__(self, device=None, priority=0, **_kwargs):
        self.device = torch.device("cuda", now.device if device is None else index_of(device))
        self.cuda_stream, self.priority = id(self), priority

    def synchronize(self): ...

    def query(self):
        return True

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event


class Event(torch.cpu.Event):
    """A moment on the host's clock."""

    def __init__(self, enable_timing=False, **_kwargs):
        self.timing, self.at = enable_timing, math.nan

    def record(self, stream=None):
        self.at = time.perf_counter()

    def elapsed_time(self, other):
        if not (self.timing and other.timing) or math.isnan(other.at - self.at):
            raise ValueError("Both events must be recorded, with enable_timing=True. (pretended)")
        return max((other.at - self.at) * 1e3, 1e-4)


class Graph:
    """A CUDA graph that keeps nothing: what is captured runs then, and a replay does nothing."""

    def replay(self): ...


def which(device=None):
    """The number of a device that is there."""
    index = now.device if device is None else index_of(device)
    if index is None or not 0 <= index < COUNT:
        raise RuntimeError(f"CUDA error: invalid device ordinal {device} (pretended)")
    return index


def exchange(device):
    before, now.device = now.device, which(device)
    return before


def reserved(n_bytes):
    return -(-n_bytes // (2 * 2**20)) * 2 * 2**20


def change_cuda(cuda):
    properties = SimpleNamespace(
        name=NAME, major=CAPABILITY[0], minor=CAPABILITY[1], total_memory=MEMORY,
        multi_processor_count=MULTIPROCESSORS, L2_cache_size=L2, warp_size=32,
        pci_bus_id=1, pci_device_id=0, pci_domain_id=0, uuid="pretended",
    )  # fmt: skip

    def initialize():
        now.initialized = True

    def reset_peak(device=None):
        peak[which(device)] = held[which(device)]

    def free(device=None):
        return MEMORY - 600_000_000 - reserved(held[which(device)]), MEMORY

    def set_sync_debug(level):
        now.sync_debug = {"default": 0, "warn": 1, "error": 2}.get(level, level)

    answers = {
        "is_available": lambda: True, "device_count": lambda: COUNT, "init": initialize,
        "is_initialized": lambda: now.initialized, "_lazy_init": initialize,
        "current_device": lambda: now.device, "set_device": exchange,
        "_exchange_device": exchange, "_maybe_exchange_device": exchange,
        "current_stream": torch.cpu.current_stream, "stream": torch.cpu.stream,
        "default_stream": lambda device=None: torch.cpu._default_cpu_stream,
        "synchronize": lambda device=None: which(device) and None,
        "set_per_process_memory_fraction": lambda share, device=None: None,
        "empty_cache": lambda: None, "get_device_name": lambda device=None: NAME,
        "get_device_properties": lambda device=None: which(device) * 0 or properties,
        "get_device_capability": lambda device=None: CAPABILITY,
        "is_bf16_supported": lambda emulated=True: emulated or CAPABILITY >= (8, 0),
        "mem_get_info": free, "get_sync_debug_mode": lambda: now.sync_debug,
        "set_sync_debug_mode": set_sync_debug, "_sleep": lambda cycles: None,
        "manual_seed": lambda seed: None, "manual_seed_all": lambda seed: None,
        "memory_allocated": lambda device=None: held[which(device)],
        "max_memory_allocated": lambda device=None: peak[which(device)],
        "memory_reserved": lambda device=None: reserved(held[which(device)]),
        "max_memory_reserved": lambda device=None: reserved(peak[which(device)]),
        "reset_peak_memory_stats": reset_peak, "utilization": lambda device=None: 100,
        "memory_stats": lambda device=None: defaultdict(int),
        "can_device_access_peer": lambda a, b: True, "get_arch_list": lambda: ["sm_90"],
        "get_rng_state": lambda device="cuda": torch.get_rng_state(),
        "set_rng_state": lambda state, device="cuda": None,
        "Stream": Stream, "Event": Event, "CUDAGraph": Graph,
        "graph": lambda graph, **_options: contextlib.nullcontext(),
        "_record_memory_history": record_history, "_snapshot": snapshot,
        "_dump_snapshot": lambda path: Path(path).write_bytes(pickle.dumps(snapshot(), 4)),
    }  # fmt: skip
    for name, answer in answers.items():
        for room in (cuda, cuda.memory, cuda.random, cuda.streams):
            if room is cuda or hasattr(room, name):
                setattr(room, name, answer)
    torch.cpu._default_cpu_stream = torch.cpu._current_stream = Stream()
    cuda.jiterator._create_jit_fn = lambda source: lambda first, *others: first.clone()
    cuda.nccl.version = lambda: (2, 28, 9)
    torch.version.cuda = "pretended"  # so that no recording of it is taken for a GPU's
    torch._C._cuda_clearCublasWorkspaces = lambda: None


counts = []  # of a recorded history, made by the course's own allocator


def record_history(enabled="all", *_args, **_kwargs):
    from course_utils.memory import counting

    if enabled and not counts:
        counts.append(counting.count(device="cuda", frames=True))
        counts[0].__enter__()
    elif not enabled and counts:
        counts.pop().__exit__(None, None, None)


def snapshot(device=None):
    from course_utils.memory import made_snapshots

    found = made_snapshots.of_storages(list(counts[0].storages) if counts else [])
    for event in found["device_traces"][0]:
        event.pop("category", None)  # a GPU's events have none
    return found


def change_precision():
    plain_autocast, plain_generator = torch.amp.autocast_mode.autocast, torch.Generator

    class autocast(plain_autocast):
        """Autocast on a pretended GPU is the processor's; fake tensors keep CUDA's own."""

        def __init__(self, device_type, dtype=None, **kwargs):
            if torch.device(device_type).type == "cuda" and not is_faking():
                device_type, dtype = "cpu", dtype or torch.float16
            super().__init__(device_type, dtype, **kwargs)

    class Generator(plain_generator):
        def __new__(cls, device="cpu"):
            return plain_generator.__new__(cls, "cpu")

    torch.autocast = torch.amp.autocast = torch.amp.autocast_mode.autocast = autocast
    torch.Generator = Generator


def change_groups(dist):
    """NCCL is gloo here; what nn.DataParallel moves between GPUs is copied."""
    plain_init = dist.init_process_group

    def init(backend=None, *args, device_id=None, **kwargs):
        return plain_init("gloo" if "nccl" in str(backend) else backend, *args, **kwargs)

    def scatter(x, devices, _sizes=None, dim=0, _streams=None):
        parts = x.chunk(len(devices), dim)
        return tuple(p.to(f"cuda:{d}") for p, d in zip(parts, devices, strict=False))

    dist.init_process_group = dist.distributed_c10d.init_process_group = init
    dist.is_nccl_available = lambda: True
    torch._C._scatter = scatter
    torch._C._gather = lambda tensors, dim, to: torch.cat(
        [x.to(f"cuda:{to or 0}") for x in tensors], dim
    )
    torch._C._broadcast_coalesced = lambda tensors, devices, _size: [
        [x.to(f"cuda:{d}") if d else x for x in tensors] for d in devices
    ]
    module = sys.modules["torch.nn.parallel.data_parallel"]
    module.parallel_apply = lambda replicas, inputs, kwargs, _devices: [
        replica(*x, **k) for replica, x, k in zip(replicas, inputs, kwargs, strict=True)
    ]
