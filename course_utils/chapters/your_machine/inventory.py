"""Lists the hardware of this machine: cores, caches, memory, GPUs and their links.

From psutil and NVIDIA's driver, and for caches from Linux's /sys
(Documentation/ABI/stable/sysfs-devices-system-cpu). What can't be found out, as on macOS, on
Windows or in a container that hides it, is None or empty.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.core.machine import this_machine

UNLIMITED = 2**60
# By PCIe generation: 10⁹ transfers a second (each a bit) of a lane, and the share of them that is
# data: 8 bits of 10 in generations 1 and 2, then 128 of 130, and all in 6, whose error correction
# isn't counted. Source: PCI Express Base Specification.
GENERATIONS = {
    1: (2.5, 8 / 10),
    2: (5.0, 8 / 10),
    3: (8.0, 128 / 130),
    4: (16.0, 128 / 130),
    5: (32.0, 128 / 130),
    6: (64.0, 1.0),
}


@dataclass(frozen=True)
class Cache:
    """The caches of one level and size that hold data: bytes of each, and how many there are."""

    level: int
    n_bytes: int
    count: int


@dataclass(frozen=True)
class GPULink:
    """A GPU, the widest PCIe link it can have, and its NVLinks, in GB/s one way; None if unknown.

    An idle GPU slows its link down to save power, so the present speed says little.
    """

    name: str
    memory_bytes: int
    multiprocessors: int
    pcie: str | None = None
    pcie_gb_per_s: float | None = None
    nvlink_gb_per_s: float | None = None


@dataclass(frozen=True)
class Box:
    """A whole machine. Memory in bytes; `limit_bytes` and `cpu_limit` are a container's share.

    `cores` are physical; a CPU that runs two threads on each has twice as many `threads`.
    """

    processor: str
    cores: int | None
    threads: int
    caches: tuple[Cache, ...]
    memory_bytes: int
    limit_bytes: int | None
    cpu_limit: float | None
    gpus: tuple[GPULink, ...]

    def data_caches(self) -> dict[int, str]:
        """The caches' levels by the bytes of one, such as `{32768: "L1"}`, smallest first."""
        return dict(sorted((cache.n_bytes, f"L{cache.level}") for cache in self.caches))


def look(root: Path = Path("/")) -> Box:
    """Returns this machine's parts; `root` is where sys/ is."""
    import psutil
    import torch

    machine = this_machine()
    gpus = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    return Box(
        processor=machine.processor,
        cores=psutil.cpu_count(logical=False),
        threads=psutil.cpu_count() or 1,
        caches=_caches(root),
        memory_bytes=machine.memory_bytes,
        limit_bytes=_memory_limit(root),
        cpu_limit=_cpu_limit(root),
        gpus=tuple(map(_gpu_link, gpus)),
    )


def pcie_gb_per_s(generation: int, lanes: int) -> float:
    """10⁹ bytes a second one way: lanes × transfers × the share of them that is data.

    Raises: ValueError for an unknown generation.
    """
    if generation not in GENERATIONS:
        raise ValueError(f"PCIe {generation} isn't known; there are 1 to {len(GENERATIONS)}")
    transfers, data = GENERATIONS[generation]
    return transfers * data * lanes / 8


def _caches(root: Path) -> tuple[Cache, ...]:
    """Each cache once, however many cores list it; those without a size are left out."""
    seen = set()
    for path in root.glob("sys/devices/system/cpu/cpu[0-9]*/cache/index*"):
        names = ("level", "size", "type", "shared_cpu_list")
        level, size, kind, sharing = (_text(path / name) for name in names)
        if kind != "Instruction" and level.isdigit() and size.removesuffix("K").isdigit():
            seen.add((int(level), 1024 * int(size.removesuffix("K")), sharing))
    alike = Counter((level, n_bytes) for level, n_bytes, _ in seen)
    return tuple(Cache(*cache, count) for cache, count in sorted(alike.items()))


def _memory_limit(root: Path) -> int | None:
    """The bytes that a container may use; None if it may use all."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text = _text(root / "sys/fs/cgroup" / name)
        if text.isdigit() and int(text) < UNLIMITED:
            return int(text)
    return None


def _cpu_limit(root: Path) -> float | None:
    """The CPUs' worth of time that a container may use; None if it may use all."""
    quota, _, period = _text(root / "sys/fs/cgroup/cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() else None


def _gpu_link(gpu: Any) -> GPULink:
    """A GPU of torch's, with its links by NVIDIA's driver.

    The driver finds it by its UUID: torch counts the GPUs that CUDA_VISIBLE_DEVICES leaves, in its
    order, the driver all of them. A slice of a GPU (MIG) has a UUID of its own.
    """
    import pynvml

    found = gpu.name, gpu.total_memory, gpu.multi_processor_count
    with suppress(pynvml.NVMLError, ValueError):  # no driver (an AMD GPU), or a newer PCIe
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{gpu.uuid}")
        generation = pynvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)
        lanes = pynvml.nvmlDeviceGetMaxPcieLinkWidth(handle)
        speed = pcie_gb_per_s(generation, lanes)
        return GPULink(*found, f"PCIe {generation} x{lanes}", speed, _nvlink_gb_per_s(handle))
    return GPULink(*found)


def _nvlink_gb_per_s(handle: Any) -> float | None:
    """The sum over a GPU's NVLinks that are up, one way."""
    import pynvml

    with suppress(pynvml.NVMLError):
        fields = [pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT, pynvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON]
        count, speed = (f.value.uiVal for f in pynvml.nvmlDeviceGetFieldValues(handle, fields))
        up = sum(pynvml.nvmlDeviceGetNvLinkState(handle, link) for link in range(count))
        return up * speed / 1000 or None
    return None


def _text(path: Path) -> str:
    """A small file's text without its line end; empty if it can't be read."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8").strip()
    return ""
