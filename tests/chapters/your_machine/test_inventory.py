"""A machine as made-up /sys trees, psutil and NVIDIA's driver report it, or as nothing does."""

from types import SimpleNamespace

import psutil
import pynvml
import pytest
import torch

from course_utils.chapters.your_machine.inventory import (
    GENERATIONS,
    Cache,
    look,
    pcie_gb_per_s,
)
from course_utils.chapters.your_machine.machine_drawing import draw_box, sketch_cpu
from tests.support.trees import write

KIB, MIB = 2**10, 2**20
CPU = "sys/devices/system/cpu"
# GB/s one way of 16 lanes, by generation. Source: PCI-SIG.
PCIE_X16 = {1: 4.0, 2: 8.0, 3: 15.754, 4: 31.508, 5: 63.015, 6: 128.0}


def cache(number, index, level, kind, size, shared):
    told = {"level": level, "type": kind, "size": size, "shared_cpu_list": shared}
    return {f"{CPU}/cpu{number}/cache/index{index}/{name}": text for name, text in told.items()}


def test_a_servers_caches_are_counted_once(tmp_path):
    """Two sockets of two cores of two threads: 0-3 are the first threads, 4-7 the second."""
    for n in range(8):
        package, pair = n % 4 // 2, f"{n % 4},{n % 4 + 4}"
        package_cpus = "0-1,4-5" if package == 0 else "2-3,6-7"
        write(tmp_path, cache(n, 0, 1, "Data", "32K", pair))
        write(tmp_path, cache(n, 1, 1, "Instruction", "32K", pair))
        write(tmp_path, cache(n, 2, 2, "Unified", "1024K", pair))
        write(tmp_path, cache(n, 3, 3, "Unified", "32768K", package_cpus))
    box = look(tmp_path)
    l1, l2, l3 = 32 * KIB, MIB, 32 * MIB
    assert box.caches == (Cache(1, l1, count=4), Cache(2, l2, count=4), Cache(3, l3, count=2))
    assert box.data_caches() == {l1: "L1", l2: "L2", l3: "L3"}


@pytest.mark.parametrize(
    "memory, cpus, found",
    [(2**31, "150000 100000", (2**31, 1.5)), ("max", "max 100000", (None, None))],
)
def test_a_containers_share_is_told(tmp_path, memory, cpus, found):
    write(tmp_path, {"sys/fs/cgroup/memory.max": memory, "sys/fs/cgroup/cpu.max": cpus})
    box = look(tmp_path)
    assert (box.limit_bytes, box.cpu_limit) == found


def test_a_pcie_link_carries_what_the_specification_states():
    assert {g: pytest.approx(pcie_gb_per_s(g, 16), abs=0.001) for g in GENERATIONS} == PCIE_X16
    with pytest.raises(ValueError, match="PCIe 9 isn't known"):
        pcie_gb_per_s(9, 16)


@pytest.fixture
def seen(monkeypatch):
    """torch's GPU 0 with CUDA_VISIBLE_DEVICES=1: the driver's second."""
    gpu = SimpleNamespace(
        name="NVIDIA L4",
        total_memory=24 * 10**9,
        uuid="b",
        multi_processor_count=58,
        major=8,
        minor=9,
    )
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: gpu)


@pytest.mark.parametrize("generation, links, found", [
    (5, {0: 1, 1: 0, 2: 1}, ("PCIe 5 x8", pytest.approx(31.508, abs=0.001), 53.124)),
    (4, {}, ("PCIe 4 x8", pytest.approx(15.754, abs=0.001), None)),
    (9, {}, (None, None, None)),
])  # fmt: skip
def test_a_gpus_links_are_those_that_the_driver_knows_by_its_uuid(
    seen, monkeypatch, generation, links, found
):
    def values(gpu, fields):
        told = {pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT: len(links),
                pynvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: 26_562}  # fmt: skip
        return [SimpleNamespace(value=SimpleNamespace(uiVal=told[field])) for field in fields]

    answers = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByUUID": {"GPU-b": "handle"}.__getitem__,
        "nvmlDeviceGetMaxPcieLinkGeneration": {"handle": generation}.__getitem__,
        "nvmlDeviceGetMaxPcieLinkWidth": {"handle": 8}.__getitem__,
        "nvmlDeviceGetFieldValues": values,
        "nvmlDeviceGetNvLinkState": lambda gpu, link: links[link],
    }
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)
    (link,) = look().gpus
    assert (link.name, link.pcie, link.pcie_gb_per_s, link.nvlink_gb_per_s) == ("NVIDIA L4", *found)


def test_without_nvidias_driver_a_gpus_links_are_not_told(seen, monkeypatch):
    def fails():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", fails)
    box = look()
    assert [(gpu.name, gpu.pcie) for gpu in box.gpus] == [("NVIDIA L4", None)]
    assert any("1 × L4: 58 SMs, 24 GB" in level.text for level in sketch_cpu(box).levels)


def test_where_the_system_reports_nothing_the_diagram_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: None)
    box = look(tmp_path)
    assert (box.cores, box.caches) == (None, ())
    assert box.threads >= 1 and box.data_caches() == {}
    shown = sketch_cpu(box)
    assert shown.inside == ["caches: unknown"] and "unknown cores" in shown.units
    assert draw_box("A machine", shown).png
