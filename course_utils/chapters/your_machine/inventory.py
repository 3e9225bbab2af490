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
SIBLINGS = ("core_cpus_list", "thread_siblings_list")  # today's name, and that before Linux 5.3
UNLIMITED = 2**60


@dataclass(frozen=True)
class Cache:
    """One level of cache of one size: bytes of each, how many there are, processors sharing one."""

    level: int
    kind: str  # "Data", "Instruction" or "Unified"
    n_bytes: int
    count: int
    shared_by: int


@dataclass(frozen=True)
class Box:
    """A whole machine. Memory in bytes; `limit_bytes` and `cpu_limit` are a container's share.

    `cores` counts physical cores by kind, of which processors with two threads have fewer than
    `threads`.
    """

    processor: str
    sockets: int | None
    cores: dict[str, int]
    threads: int
    caches: tuple[Cache, ...]
    memory_bytes: int | None
    limit_bytes: int | None
    cpu_limit: float | None
    disks: tuple[Disk, ...]
    networks: tuple[Network, ...]
    gpus: tuple[GPULink, ...]

    @property
    def largest_cache(self) -> int | None:
        """Bytes of the last level; None where the system doesn't tell."""
        return max((cache.n_bytes for cache in self.caches), default=None)

    def data_caches(self) -> dict[int, str]:

        found = {c.n_bytes: f"L{c.level}" for c in self.caches if c.kind != "Instruction"}
        return dict(sorted(found.items()))


def look(root: Path = Path("/")) -> Box:
    """Looks round this machine; `root` is where sys/ and proc/ are."""
    machine = this_machine()
    cpus = _cpus(root)
    return Box(
        processor=machine.processor,
        sockets=_sockets(cpus),
        cores=_cores(root, cpus),
        threads=len(cpus) or os.cpu_count() or 1,
        caches=_caches(cpus),
        memory_bytes=machine.memory_bytes,
        limit_bytes=_memory_limit(root),
        cpu_limit=_cpu_limit(root),
        disks=disks(root),
        networks=networks(root),
        gpus=gpu_links(root),
    )


def _cpus(root: Path) -> list[Path]:
    """The folders of all processors that are switched on, in the order of their numbers."""
    found = [p for p in (root / "sys/devices/system/cpu").glob("cpu*") if p.name[3:].isdigit()]
    return sorted(
        (p for p in found if text_of(p / "online") != "0"), key=lambda path: int(path.name[3:])
    )


def _sockets(cpus: list[Path]) -> int | None:
    """Some ARM machines say −1 of every processor: then nobody knows."""
    found = {text_of(cpu / "topology/physical_package_id") for cpu in cpus} - {"", "-1"}
    return len(found) or None


def _cores(root: Path, cpus: list[Path]) -> dict[str, int]:
    """Physical cores by kind: Intel's two kinds, ARM's by capacity, else one kind, "cores"."""
    kind_of = _kind_of(root, cpus)
    kinds = Counter(kind_of[first] for first in _first_threads(cpus))
    if len(kinds) == 1:
        return {"cores": kinds.total()}
    return {f"{kind} cores": count for kind, count in sorted(kinds.items())}


def _first_threads(cpus: list[Path]) -> set[int]:
    """The lowest-numbered thread of each physical core."""
    firsts = set()
    for cpu in cpus:
        listed = [text_of(cpu / "topology" / name) for name in SIBLINGS]
        firsts.add(min(numbers(listed[0] or listed[1]), default=int(cpu.name[3:])))
    return firsts


def _kind_of(root: Path, cpus: list[Path]) -> dict[int, str]:
    every = {int(cpu.name[3:]): "" for cpu in cpus}
    for kind, folder in HYBRID.items():
        every |= dict.fromkeys(numbers(text_of(root / "sys/devices" / folder / "cpus")), kind)
    capacities = {int(cpu.name[3:]): text_of(cpu / "cpu_capacity") for cpu in cpus}
    if len(set(capacities.values())) > 1:
        every = {number: f"capacity {capacity}" for number, capacity in capacities.items()}
    return every


def numbers(listed: str) -> list[int]:
    """`0-3,8` gives [0, 1, 2, 3, 8]; nothing for what isn't such a list."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", listed):
        return []
    ends = [part.partition("-") for part in listed.split(",")]
    return [n for low, _, high in ends for n in range(int(low), int(high or low) + 1)]


def _caches(cpus: list[Path]) -> tuple[Cache, ...]:
    """Each cache once, however many processors list it; those without a size are left out."""
    seen: set[tuple[int, str, int, str]] = set()
    for cpu in cpus:
        for index in (cpu / "cache").glob("index*"):
            level, size = text_of(index / "level"), _size(text_of(index / "size"))
            if level.isdigit() and size:
                sharing = text_of(index / "shared_cpu_list") or cpu.name[3:]
                seen.add((int(level), text_of(index / "type") or "Unified", size, sharing))
    alike = Counter(
        (level, kind, size, max(1, len(numbers(sharing)))) for level, kind, size, sharing in seen
    )
    return tuple(
        Cache(level, kind, size, count, shared)
        for (level, kind, size, shared), count in sorted(alike.items())
    )


def _size(text: str) -> int | None:
    """`1024K` or `32M` in bytes."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not found:
        return None
    return int(found[1]) * 1024 ** " KMG".index(found[2] or " ")


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
