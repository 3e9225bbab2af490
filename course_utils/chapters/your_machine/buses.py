"""What hangs on a machine's buses: disks, networks, GPUs, and how wide the way to them is."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SECTOR = 512  # the unit of /sys/block/*/size, whatever the disk's own sectors are
NOT_DISKS = re.compile(r"(loop|ram|zram|dm-|md|sr|fd|nbd)\d*")
ETHERNET = "1"  # of /sys/class/net/*/type (linux/if_arp.h)
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
PCI_ADDRESS = ("pci_domain_id", "pci_bus_id", "pci_device_id")


@dataclass(frozen=True)
class Disk:
    """A disk's name, bytes and kind. Whether it spins is asked of real ones only."""

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


def pcie_gb_per_s(gt_per_s: float, lanes: int) -> float:
    """10⁹ bytes a second one way: a bit a transfer and lane, less what the line code takes.

    Generations 1 and 2 send 10 bits for 8, those from 3 on 130 for 128. Generation 6 has no line
    code; what its error correction takes isn't counted. Source: PCI Express Base Specification.
    """
    code = 8 / 10 if gt_per_s <= 5 else 128 / 130 if gt_per_s <= 32 else 1
    return gt_per_s * lanes * code / 8


def gpu_links(root: Path) -> tuple[GPULink, ...]:
    """Every CUDA GPU that torch sees, with its links."""
    import torch

    if not torch.cuda.is_available():
        return ()
    nvlinks = read_nvlinks(_nvidia_smi_nvlink())
    found = []
    for index in range(torch.cuda.device_count()):
        gpu = torch.cuda.get_device_properties(index)
        place = [getattr(gpu, name, None) for name in PCI_ADDRESS]
        name, speed = read_pcie(root, place)
        found.append(GPULink(gpu.name, gpu.total_memory, name, speed, nvlinks.get(index)))
    return tuple(found)


def read_pcie(root: Path, place: list[int | None]) -> tuple[str | None, float | None]:
    """("PCIe 5 x16", 63.0) of the device at (domain, bus, device); (None, None): not told."""
    if None in place:
        return None, None
    domain, bus, device = place
    folder = root / "sys/bus/pci/devices" / f"{domain:04x}:{bus:02x}:{device:02x}.0"
    speed = re.match(r"[\d.]+", text_of(folder / "max_link_speed"))
    lanes = text_of(folder / "max_link_width")
    if not speed or not lanes.isdigit() or not 0 < int(lanes) <= 32:
        return None, None
    generation = GENERATIONS.get(float(speed[0]), "?")
    return f"PCIe {generation} x{lanes}", pcie_gb_per_s(float(speed[0]), int(lanes))


def read_nvlinks(said: str) -> dict[int, float]:
    """By GPU, the sum of its links' GB/s one way, from what `nvidia-smi nvlink --status` says."""
    found: dict[int, float] = {}
    gpu = None
    for line in said.splitlines():
        if heading := re.match(r"GPU (\d+):", line):
            gpu = int(heading[1])
        elif gpu is not None and (link := re.match(r"\s+Link \d+: ([\d.]+) GB/s", line)):
            found[gpu] = found.get(gpu, 0.0) + float(link[1])
    return found


def _nvidia_smi_nvlink() -> str:
    if not shutil.which("nvidia-smi"):
        return ""
    try:
        done = subprocess.run(
            ["nvidia-smi", "nvlink", "--status"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def text_of(path: Path) -> str:
    """A small file's text without its line end; empty where it can't be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
