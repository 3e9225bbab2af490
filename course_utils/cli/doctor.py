"""`python -m course_utils doctor`: what works on this machine, and what to do about the rest."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from course_utils.core import evidence, files
from course_utils.core.gpus import explain_unknown, gpu_specs
from course_utils.core.machine import GPU, this_machine

REINSTALL = "To install all anew: rm .venv/course-stamp, then make setup"
FREE_GB = 2


class Finding(NamedTuple):
    """`works` is True, False, or None where the course doesn't need it; `text` says the rest."""

    works: bool | None
    what: str
    text: str


def examine() -> list[Finding]:
    """Every finding, in the order to be read; takes a few seconds (torch)."""
    looks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _python, _torch, _gpus, _backends, _packages, _fonts, _disk, _recordings,
    )  # fmt: skip
    found: list[Finding] = []
    for look in looks:
        try:
            found += look()
        except Exception as error:  # the doctor must not fail where the machine does
            text = f"{type(error).__name__}: {error}. {REINSTALL}"
            found.append(Finding(False, look.__name__[1:], text))
    return found


def report(findings: list[Finding]) -> str:
    """One line for each finding, then a verdict on the machine."""
    marks = {True: "✓", False: "✗", None: "–"}
    lines = [f"{marks[f.works]} {f.what:<12} {f.text}" for f in findings]
    broken = [f.what for f in findings if f.works is False]
    summary = f"To repair: {', '.join(broken)}." if broken else "Every chapter runs here."
    return "\n".join([*lines, "", summary])


def _python() -> Iterator[Finding]:
    where = "in .venv" if sys.prefix != sys.base_prefix else "not in a virtual environment"
    works = sys.version_info[:2] <= (3, 13)
    advice = "" if works else "; the course is tested on 3.11 to 3.13"
    yield Finding(works, "Python", f"{platform.python_version()}, {where}{advice}")


def _torch() -> Iterator[Finding]:
    import torch

    build = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built for the CPU"
    release = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    advice = "" if release >= (2, 11) else f"; the course needs 2.11. {REINSTALL}"
    yield Finding(release >= (2, 11), "torch", f"{torch.__version__}, {build}{advice}")
    memory = this_machine().memory_bytes
    box = f"{this_machine().processor}, {this_machine().cores} cores usable"
    yield Finding(True, "processor", box + (f", {memory / 1e9:.1f} GB" if memory else ""))


def _gpus() -> Iterator[Finding]:
    here = this_machine()
    if here.hidden_gpus:
        yield Finding(False, "GPU", here.hidden_gpus)
    elif not here.gpus:
        yield Finding(None, "GPU", "none: chapters run on the processor and show recordings")
    for index, gpu in enumerate(here.gpus):
        yield _gpu(index, gpu)
    if here.driver:
        yield Finding(True, "driver", here.driver)


def _gpu(index: int, gpu: GPU) -> Finding:
    import torch

    x = torch.ones(64, 64, device=torch.device("cuda", index))
    works = bool((x @ x == 64).all())
    capability = ".".join(map(str, gpu.capability))
    size = f"{gpu.memory_bytes / 1e9:.0f} GB, compute capability {capability}"
    unknown = "" if gpu_specs(gpu.name) else f". {explain_unknown(gpu.name)}"
    return Finding(works, f"GPU {index}", f"{gpu.name}, {size}, a product came out right{unknown}")


def _backends() -> Iterator[Finding]:
    """One all_reduce of one rank: enough to see that the backend's library loads and runs."""
    import torch
    import torch.distributed as dist

    if not dist.is_available():
        yield Finding(False, "gloo", "this torch was built without torch.distributed: reinstall it")
        return
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        dist.all_reduce(torch.ones(1))
        yield Finding(True, "gloo", "ranks on the processor work")
    finally:
        dist.destroy_process_group()
    count, nccl = len(this_machine().gpus), dist.is_nccl_available()
    if count < 2:
        yield Finding(None, "nccl", "needs two GPUs or more; chapters use gloo here")
    else:
        yield Finding(nccl, "nccl", f"{count} ranks, a GPU each" if nccl else "missing from torch")


def _packages() -> Iterator[Finding]:
    for package in ("jupyterlab", "ipywidgets", "nbclient"):
        try:
            yield Finding(True, package, version(package))
        except PackageNotFoundError:
            yield Finding(False, package, f"isn't installed. {REINSTALL}")


def _fonts() -> Iterator[Finding]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties()))
    missing = [character for character in "≈✓µ×" if ord(character) not in font.get_charmap()]
    advice = f"lacks {' '.join(missing)}: reinstall matplotlib" if missing else "has ≈ ✓ µ ×"
    yield Finding(not missing, "fonts", f"{font.family_name} {advice}")


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(files.ROOT).free / 1e9
    advice = "" if free > FREE_GB else f"; {FREE_GB} GB are wanted"
    yield Finding(free > FREE_GB, "disk", f"{free:.0f} GB free{advice}")
    writable = os.access(files.DATA, os.W_OK)
    text = "writable" if writable else "read-only: chapters run, `record` needs --to FOLDER"
    yield Finding(True if writable else None, "data/", text)


def _recordings() -> Iterator[Finding]:
    evidence.published("matmul_sync")  # raises where data/published.json can't be read
    for chapter in evidence.experiments():
        machines = (
            "; ".join(evidence.recorded_machines(chapter)) or "none yet: make record on a GPU"
        )
        yield Finding(None, "recordings", f"{chapter}: {machines}")
