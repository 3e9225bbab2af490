"""The disks, networks and GPUs of a machine, and the bytes a second of the links to them."""

import re
from dataclasses import dataclass
from pathlib import Path

from course_utils.core.machine import nvidia_smi

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
