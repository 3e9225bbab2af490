"""Disks, networks and the links of GPUs, as made-up folders and NVIDIA's driver tell them."""

from types import SimpleNamespace

import pytest
import torch

from course_utils.chapters.your_machine import buses
from course_utils.chapters.your_machine.buses import (
    Disk,
    Network,
    disks,
    gpu_links,
    networks,
    pcie_gb_per_s,
    read_nvlinks,
    read_pcie,
)
from tests.support.trees import write


def test_disks_are_named_sized_and_told_apart(tmp_path):
    sizes = {
        "nvme0n1": 7_501_476_528,
        "sda": 1000,
        "sdb": 1000,
        "vda": 2000,
        "loop0": 8,
        "zram0": 8,
    }
    write(tmp_path, {f"sys/block/{name}/size": size for name, size in sizes.items()})
    write(
        tmp_path,
        {f"sys/block/{n}/queue/rotational": r for n, r in (("sda", 1), ("sdb", 0), ("vda", 1))},
    )
    write(tmp_path, {"sys/block/sdc/size": 0})
    assert disks(tmp_path) == (
        Disk("nvme0n1", 3_840_755_982_336, "NVMe"),
        Disk("sda", 512_000, "spinning"),
        Disk("sdb", 512_000, "solid state"),
        Disk("vda", 1_024_000, "virtual"),
    )


def test_networks_that_are_up_tell_their_speed_or_dont(tmp_path):
    def card(name, state, speed, kind=1):
        told = {"operstate": state, "speed": speed, "type": kind, "device/vendor": "0x1"}
        write(tmp_path, {f"sys/class/net/{name}/{file}": text for file, text in told.items()})

    card("eth0", "up", -1)
    card("ens1", "up", 100_000)
    card("ens2", "down", 100_000)
    card("lo", "unknown", "", kind=772)
    write(tmp_path, {"sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)"})
    assert networks(tmp_path) == (
        Network("ens1", 12.5),
        Network("eth0", None),
        Network("mlx5_0", 50.0),
    )


def pcie(root, speed, lanes, address="0000:1a:00.0"):
    at = f"sys/bus/pci/devices/{address}"
    write(root, {f"{at}/max_link_speed": speed, f"{at}/max_link_width": lanes})


@pytest.mark.parametrize(
    "speed, generation, gb_per_s",
    [
        *((2.5, 1, 4.0), (5.0, 2, 8.0), (8.0, 3, 15.754), (16.0, 4, 31.508)),
        *((32.0, 5, 63.015), (64.0, 6, 128)),
    ],
)
def test_a_pcie_link_carries_what_the_tables_say(tmp_path, speed, generation, gb_per_s):
    pcie(tmp_path, f"{speed} GT/s PCIe", 16)
    found = read_pcie(tmp_path, 0, 0x1A, 0)
    assert found == (f"PCIe {generation} x16", pytest.approx(gb_per_s, abs=0.001))


def test_a_link_that_the_system_doesnt_tell_is_left_out(tmp_path):
    pcie(tmp_path, "Unknown", 255)
    assert read_pcie(tmp_path, 0, 0x1A, 0) == read_pcie(tmp_path, 0, 0x1B, 0) == (None, None)
    assert read_pcie(tmp_path, None, 0x1A, 0) == (None, None)


def status(uuid, *links):
    """What `nvidia-smi nvlink --status` says of one GPU."""
    return [
        f"GPU 0: NVIDIA H200 (UUID: {uuid})",
        *(f"\t Link {n}: {s}" for n, s in enumerate(links)),
    ]


def test_nvlinks_of_a_gpu_are_added():
    lines = status("GPU-a", *["26.562 GB/s"] * 18) + status("GPU-b", "25 GB/s", "<inactive>")
    assert read_nvlinks(lines) == pytest.approx({"GPU-a": 478.116, "GPU-b": 25.0})
    assert read_nvlinks([]) == read_nvlinks(status("GPU-a", "<inactive>")) == {}


def test_links_are_those_of_the_gpus_that_torch_sees_in_its_order(monkeypatch, tmp_path):
    """CUDA_VISIBLE_DEVICES=1: torch's GPU 0 is the driver's second, which has other links."""
    address = {"pci_domain_id": 0, "pci_bus_id": 0x1B, "pci_device_id": 0}
    seen = SimpleNamespace(name="NVIDIA L4", total_memory=24 * 10**9, uuid="b", **address)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: seen)
    pcie(tmp_path, "32.0 GT/s PCIe", 16)
    pcie(tmp_path, "16.0 GT/s PCIe", 8, "0000:1b:00.0")
    monkeypatch.setattr(buses, "nvidia_smi", lambda *_: status("GPU-a", "25 GB/s"))
    (link,) = gpu_links(tmp_path)
    assert (link.name, link.pcie, link.nvlink_gb_per_s) == ("NVIDIA L4", "PCIe 4 x8", None)
    monkeypatch.setattr(buses, "nvidia_smi", lambda *_: status("GPU-b", "25 GB/s"))
    assert gpu_links(tmp_path)[0].nvlink_gb_per_s == 25.0


def test_the_bytes_of_a_pcie_link_are_those_that_the_specification_states():
    stated = {1: 4.0, 2: 8.0, 3: 15.754, 4: 31.508, 5: 63.015, 6: 128.0}  # x16, one way
    found = {generation: pcie_gb_per_s(generation, 16) for generation in stated}
    assert found == pytest.approx(stated, rel=1e-4)
    assert pcie_gb_per_s(4, 4) == pytest.approx(stated[4] / 4, rel=1e-4)
    with pytest.raises(ValueError, match="PCIe 9 isn't known"):
        pcie_gb_per_s(9, 16)
