"""What is in this box: sockets, cores, caches, memory, disks, links, as the system tells.

Read from Linux's /sys and /proc (Documentation/ABI/stable/sysfs-devices-system-cpu). What a system
doesn't tell, as on macOS, on Windows or in a container that hides it, is None or empty.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from course_utils.core.machine import nvidia_smi, this_machine

# ---- The disks, networks and GPUs of a machine, and the bytes a second of the links to them.

SECTOR = 512  # the unit of /sys/block/*/size, whatever the disk's own sectors are
NOT_DISKS = re.compile(r"(loop|ram|zram|dm-|md|sr|fd|nbd)\d*")
ETHERNET = "1"  # of /sys/class/net/*/type (linux/if_arp.h)
# By 10⁹ transfers a second (each a bit) of a PCIe lane: the generation, and what the line code
# leaves: 8 bits of 10 in generations 1 and 2, then 128 of 130, and all in 6, whose error correction
# isn't counted. Source: PCI Express Base Specification.
GENERATIONS = {
    2.5: (1, 8 / 10),
    5.0: (2, 8 / 10),
    8.0: (3, 128 / 130),
    16.0: (4, 128 / 130),
    32.0: (5, 128 / 130),
    64.0: (6, 1.0),
}
PCI_ADDRESS = ("pci_domain_id", "pci_bus_id", "pci_device_id")


@dataclass(frozen=True)
class Disk:
    """A disk's name, bytes and kind. A virtual disk doesn't know whether a real one below spins."""

    name: str
    n_bytes: int
    kind: str  # "NVMe", "virtual", "solid state", "spinning"


@dataclass(frozen=True)
class Network:
    """A network card that is up; 10⁹ bytes a second one way, None where it doesn't tell."""

    name: str
    gb_per_s: float | None


@dataclass(frozen=True)
class GPULink:
    """A GPU, the widest PCIe link it can have, and its NVLinks, in GB/s one way; None: not told.

    An idle GPU runs its link at a lower speed to save power, so the present speed says little.
    """

    name: str
    memory_bytes: int
    pcie: str | None
    pcie_gb_per_s: float | None
    nvlink_gb_per_s: float | None


def disks(root: Path) -> tuple[Disk, ...]:
    found = []
    for path in sorted((root / "sys/block").glob("*")):
        sectors = text_of(path / "size")
        if not NOT_DISKS.fullmatch(path.name) and sectors.isdigit() and int(sectors):
            found.append(Disk(path.name, int(sectors) * SECTOR, _kind(path)))
    return tuple(found)


def _kind(path: Path) -> str:
    if path.name.startswith("nvme"):
        return "NVMe"
    if path.name.startswith(("vd", "xvd")):
        return "virtual"
    return "spinning" if text_of(path / "queue/rotational") == "1" else "solid state"


def networks(root: Path) -> tuple[Network, ...]:
    """Ethernet cards that are up and have a device behind them, and InfiniBand ports."""
    found = []
    for path in sorted((root / "sys/class/net").glob("*")):
        cards = (path / "device").exists() or path.name.startswith("eth")
        if cards and text_of(path / "type") == ETHERNET and text_of(path / "operstate") == "up":
            mbit = text_of(path / "speed")
            found.append(Network(path.name, int(mbit) / 8000 if mbit.isdigit() else None))
    for path in sorted((root / "sys/class/infiniband").glob("*/ports/*/rate")):
        gbit = re.match(r"[\d.]+", text_of(path))
        found.append(Network(path.parts[-4], float(gbit[0]) / 8 if gbit else None))
    return tuple(found)


def gpu_links(root: Path) -> tuple[GPULink, ...]:
    """Every CUDA GPU that torch sees; the system tells its PCIe link, the driver its NVLinks.

    A GPU is found by its PCI address and its UUID: torch counts the GPUs that CUDA_VISIBLE_DEVICES
    leaves, in its order, the driver all of them. A slice of a GPU (MIG) has a UUID of its own.
    """
    import torch

    nvlinks = read_nvlinks(nvidia_smi("nvlink", "--status"))
    found = []
    for index in range(torch.cuda.device_count()):
        gpu = torch.cuda.get_device_properties(index)
        name, speed = read_pcie(root, *(getattr(gpu, part, None) for part in PCI_ADDRESS))
        nvlink = nvlinks.get(f"GPU-{getattr(gpu, 'uuid', '')}")
        found.append(GPULink(gpu.name, gpu.total_memory, name, speed, nvlink))
    return tuple(found)


def read_pcie(
    root: Path, domain: int | None, bus: int | None, device: int | None
) -> tuple[str | None, float | None]:
    """("PCIe 5 x16", 63.0 GB/s one way) of a device by its address; (None, None): not told."""
    if domain is None or bus is None or device is None:
        return None, None
    folder = root / "sys/bus/pci/devices" / f"{domain:04x}:{bus:02x}:{device:02x}.0"
    told = re.match(r"[\d.]+", text_of(folder / "max_link_speed"))
    lanes = text_of(folder / "max_link_width")
    if not told or float(told[0]) not in GENERATIONS or not lanes.isdigit() or int(lanes) > 32:
        return None, None
    generation = GENERATIONS[float(told[0])][0]
    return f"PCIe {generation} x{lanes}", pcie_gb_per_s(generation, int(lanes))


def pcie_gb_per_s(generation: int, lanes: int) -> float:
    """10⁹ bytes a second one way: lanes × transfers × the share of them that is data.

    Raises: ValueError for a generation that isn't known.
    """
    for transfers, (number, data) in GENERATIONS.items():
        if number == generation:
            return transfers * data * lanes / 8
    raise ValueError(f"PCIe {generation} isn't known; there are 1 to {len(GENERATIONS)}")


def read_nvlinks(lines: list[str]) -> dict[str, float]:
    """By UUID, the sum of a GPU's links in GB/s, from what `nvidia-smi nvlink --status` says."""
    found: dict[str, float] = {}
    uuid = ""
    for line in lines:
        if heading := re.search(r"\(UUID: (.+)\)", line):
            uuid = heading[1]
        elif link := re.search(r"Link \d+: ([\d.]+) GB/s", line):
            found[uuid] = found.get(uuid, 0.0) + float(link[1])
    return found


def text_of(path: Path) -> str:
    """A small file's text without its line end; empty where it can't be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


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
