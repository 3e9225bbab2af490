"""What is in this box: sockets, cores, caches, memory, disks, links, as the system tells.

Read from Linux's /sys and /proc (Documentation/ABI/stable/sysfs-devices-system-cpu). What a system
doesn't tell, as on macOS, on Windows or in a container that hides it, is None or empty.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from course_utils.chapters.your_machine.buses import (
    Disk,
    GPULink,
    Network,
    disks,
    gpu_links,
    networks,
    text_of,
)
from course_utils.core.machine import this_machine

HYBRID = {"performance": "cpu_core", "efficiency": "cpu_atom"}  # Intel's names in /sys/devices
UNLIMITED = 2**60


@dataclass(frozen=True)
class Cache:
    """The caches of one level and size that hold data: bytes of each, and how many there are."""

    level: int
    n_bytes: int
    count: int


@dataclass(frozen=True)
class Box:
    """A whole machine. Memory in bytes; `limit_bytes` and `cpu_limit` are a container's share.

    `cores` counts physical cores by kind, of which processors with two threads have fewer than
    `threads`. `ghz` is the highest clock that the system tells of, in 10⁹ cycles a second; a
    virtual machine tells the one it was sold with.
    """

    processor: str
    sockets: int | None
    cores: dict[str, int]
    threads: int
    ghz: float | None
    caches: tuple[Cache, ...]
    memory_bytes: int
    limit_bytes: int | None
    cpu_limit: float | None
    disks: tuple[Disk, ...]
    networks: tuple[Network, ...]
    gpus: tuple[GPULink, ...]

    def data_caches(self) -> dict[int, str]:
        """The caches' levels by the bytes of one, such as `{32768: "L1"}`, smallest first."""
        return dict(sorted((cache.n_bytes, f"L{cache.level}") for cache in self.caches))


def look(root: Path = Path("/")) -> Box:
    """Looks round this machine; `root` is where sys/ and proc/ are."""
    machine = this_machine()
    cpus = _cpus(root)
    return Box(
        processor=machine.processor,
        sockets=_sockets(cpus),
        cores=_cores(root, cpus),
        threads=len(cpus) or os.cpu_count() or 1,
        ghz=_ghz(),
        caches=_caches(cpus),
        memory_bytes=machine.memory_bytes,
        limit_bytes=_memory_limit(root),
        cpu_limit=_cpu_limit(root),
        disks=disks(root),
        networks=networks(root),
        gpus=gpu_links(root),
    )


def _cpus(root: Path) -> list[Path]:
    """The folders of all processors that are switched on."""
    found = (root / "sys/devices/system/cpu").glob("cpu[0-9]*")
    return [cpu for cpu in found if text_of(cpu / "online") != "0"]


def _sockets(cpus: list[Path]) -> int | None:
    """Some ARM machines say −1 of every processor: then nobody knows."""
    found = {text_of(cpu / "topology/physical_package_id") for cpu in cpus} - {"", "-1"}
    return len(found) or None


def _cores(root: Path, cpus: list[Path]) -> dict[str, int]:
    """Physical cores by kind: Intel's two kinds, ARM's by capacity, else one kind, "cores"."""
    kinds: dict[int, str] = {}
    for kind, folder in HYBRID.items():
        kinds |= dict.fromkeys(listed_cpus(text_of(root / "sys/devices" / folder / "cpus")), kind)
    kind_of_core = {}
    for cpu in cpus:
        siblings = text_of(cpu / "topology/thread_siblings_list") or cpu.name
        capacity = text_of(cpu / "cpu_capacity")
        kind_of_core[siblings] = kinds.get(int(cpu.name[3:]), f"capacity {capacity}")
    found = Counter(kind_of_core.values())
    if len(found) == 1:
        return {"cores": found.total()}
    return {f"{kind} cores": count for kind, count in sorted(found.items())}


def _ghz() -> float | None:
    import psutil

    try:
        clock = psutil.cpu_freq()
    except (AttributeError, OSError, RuntimeError, NotImplementedError):
        return None
    return max(clock.max, clock.current) / 1000 or None if clock else None


def listed_cpus(listed: str) -> list[int]:
    """`0-3,8` gives [0, 1, 2, 3, 8]; nothing for what isn't such a list."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", listed):
        return []
    ends = [part.partition("-") for part in listed.split(",")]
    return [n for low, _, high in ends for n in range(int(low), int(high or low) + 1)]


def _caches(cpus: list[Path]) -> tuple[Cache, ...]:
    """Each cache once, however many processors list it; those without a size are left out."""
    seen = set()
    for cpu in cpus:
        for index in (cpu / "cache").glob("index*"):
            level, kib = text_of(index / "level"), text_of(index / "size").removesuffix("K")
            holds_data = text_of(index / "type") != "Instruction"
            if holds_data and level.isdigit() and kib.isdigit():
                sharing = text_of(index / "shared_cpu_list") or cpu.name
                seen.add((int(level), 1024 * int(kib), sharing))
    alike = Counter((level, n_bytes) for level, n_bytes, _ in seen)
    return tuple(Cache(*cache, count) for cache, count in sorted(alike.items()))


def _memory_limit(root: Path) -> int | None:
    """What a container may use, in bytes; None where it may use all."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text = text_of(root / "sys/fs/cgroup" / name)
        if text.isdigit() and int(text) < UNLIMITED:
            return int(text)
    return None


def _cpu_limit(root: Path) -> float | None:
    """Processors' worth of time that a container may use; None where it may use all."""
    quota, _, period = text_of(root / "sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit() and int(period):
        return int(quota) / int(period)
    return None
