"""What is in this box: sockets, cores, caches, memory, disks, networks, GPUs and their links.

From psutil and NVIDIA's driver, and where these don't tell, from Linux's /sys
(Documentation/ABI/stable/sysfs-devices-system-cpu). What nobody tells, as on macOS, on Windows or
in a container that hides it, is None or empty.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.core.machine import this_machine

SECTOR = 512  # the unit of /sys/block/*/size, whatever the disk's own sectors are
NOT_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")
UNLIMITED = 2**60
# By PCIe generation: 10⁹ transfers a second (each a bit) of a lane, and what the line code leaves:
# 8 bits of 10 in generations 1 and 2, then 128 of 130, and all in 6, whose error correction isn't
# counted. Source: PCI Express Base Specification.
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
class Disk:
    """A disk's name, bytes and kind. A virtual disk doesn't know whether a real one below spins."""

    name: str
    n_bytes: int
    kind: str  # "NVMe", "virtual", "solid state", "spinning"


@dataclass(frozen=True)
class GPULink:
    """A GPU, the widest PCIe link it can have, and its NVLinks, in GB/s one way; None: not told.

    An idle GPU runs its link at a lower speed to save power, so the present speed says little.
    """

    name: str
    memory_bytes: int
    pcie: str | None = None
    pcie_gb_per_s: float | None = None
    nvlink_gb_per_s: float | None = None


@dataclass(frozen=True)
class Box:
    """A whole machine. Memory in bytes; `limit_bytes` and `cpu_limit` are a container's share.

    `cores` are physical ones, of which processors with two threads each have fewer than `threads`.
    `networks` are the cards that are up, with their GB/s one way, None where one doesn't tell.
    `ghz` is the highest clock that the system tells of, in 10⁹ cycles a second; a virtual machine
    tells the one it was sold with.
    """

    processor: str
    sockets: int | None
    cores: int | None
    threads: int
    ghz: float | None
    caches: tuple[Cache, ...]
    memory_bytes: int
    limit_bytes: int | None
    cpu_limit: float | None
    disks: tuple[Disk, ...]
    networks: dict[str, float | None]
    gpus: tuple[GPULink, ...]

    def data_caches(self) -> dict[int, str]:
        """The caches' levels by the bytes of one, such as `{32768: "L1"}`, smallest first."""
        return dict(sorted((cache.n_bytes, f"L{cache.level}") for cache in self.caches))


def look(root: Path = Path("/")) -> Box:
    """Looks round this machine; `root` is where sys/ is."""
    import psutil
    import torch

    machine = this_machine()
    gpus = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    return Box(
        processor=machine.processor,
        sockets=_sockets(root),
        cores=psutil.cpu_count(logical=False),
        threads=psutil.cpu_count() or 1,
        ghz=_ghz(),
        caches=_caches(root),
        memory_bytes=machine.memory_bytes,
        limit_bytes=_memory_limit(root),
        cpu_limit=_cpu_limit(root),
        disks=_disks(root),
        networks=_networks(root),
        gpus=tuple(map(_gpu_link, gpus)),
    )


def pcie_gb_per_s(generation: int, lanes: int) -> float:
    """10⁹ bytes a second one way: lanes × transfers × the share of them that is data.

    Raises: ValueError for a generation that isn't known.
    """
    if generation not in GENERATIONS:
        raise ValueError(f"PCIe {generation} isn't known; there are 1 to {len(GENERATIONS)}")
    transfers, data = GENERATIONS[generation]
    return transfers * data * lanes / 8


def _sockets(root: Path) -> int | None:
    """Some ARM machines say −1 of every processor: then nobody knows."""
    told = root.glob("sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id")
    return len({_text(path) for path in told} - {"", "-1"}) or None


def _ghz() -> float | None:
    import psutil

    with suppress(AttributeError, OSError, RuntimeError):
        if clock := psutil.cpu_freq():
            return max(clock.max, clock.current) / 1000 or None
    return None


def _caches(root: Path) -> tuple[Cache, ...]:
    """Each cache once, however many processors list it; those without a size are left out."""
    seen = set()
    for path in root.glob("sys/devices/system/cpu/cpu[0-9]*/cache/index*"):
        names = ("level", "size", "type", "shared_cpu_list")
        level, size, kind, sharing = (_text(path / name) for name in names)
        if kind != "Instruction" and level.isdigit() and size.removesuffix("K").isdigit():
            seen.add((int(level), 1024 * int(size.removesuffix("K")), sharing))
    alike = Counter((level, n_bytes) for level, n_bytes, _ in seen)
    return tuple(Cache(*cache, count) for cache, count in sorted(alike.items()))


def _memory_limit(root: Path) -> int | None:
    """What a container may use, in bytes; None where it may use all."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text = _text(root / "sys/fs/cgroup" / name)
        if text.isdigit() and int(text) < UNLIMITED:
            return int(text)
    return None


def _cpu_limit(root: Path) -> float | None:
    """Processors' worth of time that a container may use; None where it may use all."""
    quota, _, period = _text(root / "sys/fs/cgroup/cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() else None


def _disks(root: Path) -> tuple[Disk, ...]:
    found = []
    for path in sorted((root / "sys/block").glob("*")):
        sectors = _text(path / "size")
        if not path.name.startswith(NOT_DISKS) and sectors not in ("", "0"):
            found.append(Disk(path.name, int(sectors) * SECTOR, _kind(path)))
    return tuple(found)


def _kind(path: Path) -> str:
    if path.name.startswith("nvme"):
        return "NVMe"
    if path.name.startswith(("vd", "xvd")):
        return "virtual"
    return "spinning" if _text(path / "queue/rotational") == "1" else "solid state"


def _networks(root: Path) -> dict[str, float | None]:
    """What has no device behind it is a bridge, a tunnel or the machine itself."""
    import psutil

    return {
        name: card.speed / 8000 or None
        for name, card in sorted(psutil.net_if_stats().items())
        if card.isup
        and (name.startswith("eth") or (root / "sys/class/net" / name / "device").exists())
    }


def _gpu_link(gpu: Any) -> GPULink:
    """A GPU of torch's; NVIDIA's driver tells of its links.

    The driver finds it by its UUID: torch counts the GPUs that CUDA_VISIBLE_DEVICES leaves, in its
    order, the driver all of them. A slice of a GPU (MIG) has a UUID of its own.
    """
    import pynvml

    with suppress(pynvml.NVMLError, ValueError):  # no driver (an AMD GPU), or a newer PCIe
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{gpu.uuid}")
        generation = pynvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)
        lanes = pynvml.nvmlDeviceGetMaxPcieLinkWidth(handle)
        speed = pcie_gb_per_s(generation, lanes)
        pcie = f"PCIe {generation} x{lanes}"
        return GPULink(gpu.name, gpu.total_memory, pcie, speed, _nvlink_gb_per_s(handle))
    return GPULink(gpu.name, gpu.total_memory)


def _nvlink_gb_per_s(handle: Any) -> float | None:
    """All NVLinks of a GPU together that are up, one way."""
    import pynvml

    with suppress(pynvml.NVMLError):
        fields = [pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT, pynvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON]
        count, speed = (f.value.uiVal for f in pynvml.nvmlDeviceGetFieldValues(handle, fields))
        up = sum(pynvml.nvmlDeviceGetNvLinkState(handle, link) for link in range(count))
        return up * speed / 1000 or None
    return None


def _text(path: Path) -> str:
    """A small file's text without its line end; empty where it can't be read."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8").strip()
    return ""
