"""`torch.cuda` of a pretended GPU: streams, events, memory, autocast and process groups."""

import contextlib
import math
import sys
import time
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

from pretended_memory import (
    CAPABILITY,
    COUNT,
    L2,
    MEMORY,
    MEMORY_OF,
    MULTIPROCESSORS,
    NAME,
    index_of,
)


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


class Graph:
    """A CUDA graph that keeps nothing: what is captured runs then, and a replay does nothing."""

    def replay(self) -> None: ...


def change_cuda(torch: Any) -> None:
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
        "synchronize": lambda device=None: which(device) and None,
        "set_per_process_memory_fraction": lambda share, device=None: None,
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
    cuda.Stream, cuda.Event, cuda.CUDAGraph = Stream, Event, Graph
    cuda.graph = lambda graph, **_options: contextlib.nullcontext()
    cuda.streams.Stream, cuda.streams.Event = Stream, Event
    cuda.jiterator._create_jit_fn = lambda source: lambda first, *others: first.clone()
    cuda.nccl.version = lambda: (2, 28, 9)
    torch.version.cuda = "pretended"  # so that no recording of it is taken for a GPU's
    torch._C._cuda_clearCublasWorkspaces = lambda: None
    _change_history(torch)


def _change_history(torch: Any) -> None:
    """`_record_memory_history` and what it gives: made by the course's own allocator."""
    watching: dict[str, Any] = {}

    def record_history(enabled: Any = "all", *_args: Any, **_kwargs: Any) -> None:
        from course_utils.memory import counting

        if enabled and "count" not in watching:
            watching["count"] = counting.count(device="cuda", frames=True)
            watching["count"].__enter__()
        elif not enabled and "count" in watching:
            watching.pop("count").__exit__(None, None, None)

    def snapshot(device: Any = None, *_args: Any, **_kwargs: Any) -> Any:
        from course_utils.memory import made_snapshots

        count = watching.get("count")
        found = made_snapshots.of_storages(list(count.storages) if count else [])
        for event in found["device_traces"][0]:
            event.pop("category", None)  # a GPU's events have none
        return found

    def dump(path: Any = "dump_snapshot.pickle", *_args: Any, **_kwargs: Any) -> None:
        import pickle
        from pathlib import Path

        Path(path).write_bytes(pickle.dumps(snapshot(), protocol=4))

    torch.cuda.memory._record_memory_history = record_history
    torch.cuda.memory._snapshot = snapshot
    torch.cuda.memory._dump_snapshot = dump


def change_precision(torch: Any, is_faking: Any) -> None:
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


def change_groups(torch: Any) -> None:
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
    change_data_parallel(torch)
    dist.is_nccl_available = lambda: True


def change_data_parallel(torch: Any) -> None:
    """What nn.DataParallel moves between GPUs is copied: torch without CUDA hasn't these."""

    def scatter(
        x: Any, devices: Any, _sizes: Any = None, dim: int = 0, _streams: Any = None
    ) -> Any:
        parts = x.chunk(len(devices), dim)
        return tuple(p.to(f"cuda:{d}") for p, d in zip(parts, devices, strict=False))

    def gather(tensors: Any, dim: int, destination: int) -> Any:
        return torch.cat([x.to(f"cuda:{destination or 0}") for x in tensors], dim)

    def broadcast(tensors: Any, devices: Any, _size: int) -> Any:
        return [[x.to(f"cuda:{d}") if d else x for x in tensors] for d in devices]

    torch._C._scatter, torch._C._gather = scatter, gather
    torch._C._broadcast_coalesced = broadcast
    module = sys.modules["torch.nn.parallel.data_parallel"]
    module.parallel_apply = lambda replicas, inputs, kwargs, _devices: [
        replica(*x, **k) for replica, x, k in zip(replicas, inputs, kwargs, strict=True)
    ]
