"""This machine's CPU, memory, GPUs and versions, and which device a chapter should use."""

import os
import platform
import re
import subprocess
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class GPU:
    """One GPU as torch reports it; memory in bytes, capability as (major, minor)."""

    name: str
    memory_bytes: int
    capability: tuple[int, int]


@dataclass(frozen=True)
class Machine:
    """CPU cores usable by this process, memory in bytes, GPUs, versions."""

    system: str
    processor: str
    cores: int
    memory_bytes: int
    gpus: tuple[GPU, ...]
    driver: str | None
    versions: dict[str, str]
    hidden_gpus: str | None

    @property
    def slug(self) -> str:
        """The name of this machine's folder under data/recorded, such as `h200-x1`."""
        if not self.gpus:
            return f"cpu-{self.cores}-cores"
        return f"{short_name(self.gpus[0].name).lower().replace(' ', '-')}-x{len(self.gpus)}"

    @property
    def title(self) -> str:
        """The name under a figure: the device that did the work."""
        if not self.gpus:
            return f"{self.processor}, {self.cores} cores"
        count = f"{len(self.gpus)} × " if len(self.gpus) > 1 else ""
        return count + short_name(self.gpus[0].name)

    def __str__(self) -> str:
        return f"{self._live()}\n{self._shown()}"

    def _live(self) -> str:
        box = f"≈ {self.cores} cores, ≈ {self.memory_bytes / 1e9:.1f} GB of memory"
        if not self.gpus:
            return f"Live on this machine: {box}, no GPU. Work runs on the processor."
        gpus = ", ".join(f"{g.name} ({g.memory_bytes / 1e9:.0f} GB)" for g in self.gpus)
        return f"Live on this machine: {gpus}; {box}."

    def _shown(self) -> str:
        if self.hidden_gpus:
            return self.hidden_gpus
        if not self.gpus:
            return "From recordings: whatever needs a GPU, where a recording exists."
        if len(self.gpus) == 1:
            return "From recordings: whatever needs two GPUs or more, where a recording exists."
        return "From recordings: nothing; every experiment of this chapter can run here."

    def as_dict(self) -> dict[str, Any]:
        """The machine part of a file of recorded evidence."""
        elsewhere = ("versions", "hidden_gpus")
        told = {name: value for name, value in asdict(self).items() if name not in elsewhere}
        return {"name": self.title, **told, "gpus": list(told["gpus"])}


def short_name(gpu_name: str) -> str:
    """A GPU's name without the maker's: `NVIDIA H100 80GB HBM3` gives `H100 80GB HBM3`."""
    for prefix in ("NVIDIA ", "GeForce ", "Tesla "):
        gpu_name = gpu_name.removeprefix(prefix)
    return gpu_name


@cache
def this_machine() -> Machine:
    """Describes this machine; cached. Imports torch."""
    import psutil
    import torch

    gpus = tuple(_gpu(i) for i in range(torch.cuda.device_count()))
    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        cores=usable_cores(),
        memory_bytes=psutil.virtual_memory().total,
        gpus=gpus,
        driver=next(iter(query_gpus("driver_version")), None) if gpus else None,
        versions=_versions(),
        hidden_gpus=None if gpus else _hidden_gpus(torch.version.cuda, torch.version.hip),
    )


def device(index: int = 0) -> "torch.device":
    """The torch device that a chapter should use: CUDA GPU number `index`, or the CPU if there is
    no such GPU."""
    import torch

    if 0 <= index < torch.cuda.device_count():
        return torch.device("cuda", index)
    return torch.device("cpu")


def usable_cores() -> int:
    """CPU cores that this process may use: its affinity where the system has one, else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def physical_cores() -> int:
    """Usable physical cores: two hardware threads of one core multiply no faster than one.

    Counts every hardware thread if the system doesn't report which of them share a core.
    """
    with suppress(OSError, AttributeError):
        cpus = Path("/sys/devices/system/cpu")
        mine = (cpus / f"cpu{n}/topology/thread_siblings_list" for n in os.sched_getaffinity(0))
        return len({siblings.read_text() for siblings in mine})
    return usable_cores()


def _gpu(index: int) -> GPU:
    import torch

    found = torch.cuda.get_device_properties(index)
    return GPU(found.name, found.total_memory, (found.major, found.minor))


def _processor() -> str:
    """The CPU's name from Linux's /proc/cpuinfo, else from Python's `platform`."""
    with suppress(OSError):
        told = Path("/proc/cpuinfo").read_text()
        if named := re.search(r"^model name\s*:\s*(.+)", told, re.M):
            return " ".join(named[1].split())
    return platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    import numpy
    import torch

    found = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
    }
    if torch.version.cuda:
        found["cuda"] = torch.version.cuda
    if torch.cuda.is_available() and torch.distributed.is_nccl_available():
        found["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return found


def nvidia_smi(*question: str) -> list[str]:
    """The lines that nvidia-smi prints; empty without a driver."""
    command = ["nvidia-smi", *question]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.strip().splitlines()


def query_gpus(fields: str) -> list[str]:
    """The fields (comma-separated, nvidia-smi's names), one line for each NVIDIA GPU."""
    return nvidia_smi(f"--query-gpu={fields}", "--format=csv,noheader")


def _hidden_gpus(cuda: str | None, hip: str | None) -> str | None:
    """A sentence that explains why torch sees no GPU although the driver does; else None."""
    names = query_gpus("name")
    if not names:
        return None
    seen = f"The driver sees {len(names)} × {names[0]}, and torch sees none: "
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return f"{seen}CUDA_VISIBLE_DEVICES is {visible!r}; unset it and restart the kernel."
    if not cuda and not hip:
        return f"{seen}this torch was built without CUDA; reinstall torch (docs/installing.md)."
    return f"{seen}torch's CUDA {cuda} may be newer than the driver; `nvidia-smi` prints its limit."
