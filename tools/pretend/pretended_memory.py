"""What a pretended GPU is, and which storages are on it."""

import os
import weakref
from collections import defaultdict
from typing import Any

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
