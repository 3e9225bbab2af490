"""Disks, networks and the links of GPUs, as made-up folders and NVIDIA's driver tell them."""

from types import SimpleNamespace

import pytest
import torch

from course_utils.chapters.your_machine import inventory as buses
from course_utils.chapters.your_machine.inventory import (
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

# By 10⁹ transfers a second: the generation, and GB/s one way of 16 lanes. Source: PCI-SIG.
PCIE_X16 = {
    2.5: (1, 4.0),
    5.0: (2, 8.0),
    8.0: (3, 15.754),
    16.0: (4, 31.508),
    32.0: (5, 63.015),
    64.0: (6, 128.0),
}


def test_disks_are_named_sized_and_told_apart(tmp_path):
    sizes = {"nvme0n1": 7_501_476_528, "sda": 1000, "sdb": 1000, "vda": 2000, "loop0": 8, "sdc": 0}
    write(tmp_path, {f"sys/block/{name}/size": size for name, size in sizes.items()})
    spins = {"sda": 1, "sdb": 0, "vda": 1}
    write(tmp_path, {f"sys/block/{n}/queue/rotational": one for n, one in spins.items()})
    assert disks(tmp_path) == (
        Disk("nvme0n1", 3_840_755_982_336, "NVMe"),
        Disk("sda", 512_000, "spinning"),
        Disk("sdb", 512_000, "solid state"),
        Disk("vda", 1_024_000, "virtual"),
    )


def test_networks_that_are_up_tell_their_speed_or_dont(tmp_path):
    cards = {"eth0": ("up", -1), "ens1": ("up", 100_000), "ens2": ("down", 100_000)}
    for name, (state, speed) in cards.items():
        told = {"operstate": state, "speed": speed, "type": 1, "device/vendor": "0x1"}
        write(tmp_path, {f"sys/class/net/{name}/{file}": text for file, text in told.items()})
    write(tmp_path, {"sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)"})
    assert networks(tmp_path) == (
        Network("ens1", 12.5),
        Network("eth0", None),
        Network("mlx5_0", 50.0),
    )


def pcie(root, speed, lanes, address="0000:1a:00.0"):
    at = f"sys/bus/pci/devices/{address}"
    write(root, {f"{at}/max_link_speed": speed, f"{at}/max_link_width": lanes})


def test_a_pcie_link_carries_what_the_specification_states_or_is_left_out(tmp_path):
    for speed, (generation, gb_per_s) in PCIE_X16.items():
        pcie(tmp_path, f"{speed} GT/s PCIe", 16)
        found = read_pcie(tmp_path, 0, 0x1A, 0)
        assert found == (f"PCIe {generation} x16", pytest.approx(gb_per_s, abs=0.001))
    assert pcie_gb_per_s(4, 4) == pytest.approx(31.508 / 4, rel=1e-4)
    with pytest.raises(ValueError, match="PCIe 9 isn't known"):
        pcie_gb_per_s(9, 16)
    pcie(tmp_path, "Unknown", 255)
    for address in ((0, 0x1A, 0), (0, 0x1B, 0), (None, 0x1A, 0)):
        assert read_pcie(tmp_path, *address) == (None, None)


def status(uuid, *links):
    """What `nvidia-smi nvlink --status` says of one GPU."""
    return [
        f"GPU 0: NVIDIA H200 (UUID: {uuid})",
        *(f"\t Link {n}: {s}" for n, s in enumerate(links)),
    ]


def test_links_are_added_for_the_gpus_that_torch_sees(monkeypatch, tmp_path):
    """CUDA_VISIBLE_DEVICES=1: torch's GPU 0 is the driver's second, which has other links."""
    lines = status("GPU-a", *["26.562 GB/s"] * 18) + status("GPU-b", "25 GB/s", "<inactive>")
    assert read_nvlinks(lines) == pytest.approx({"GPU-a": 478.116, "GPU-b": 25.0})
    assert read_nvlinks([]) == read_nvlinks(status("GPU-a", "<inactive>")) == {}

    address = {"pci_domain_id": 0, "pci_bus_id": 0x1B, "pci_device_id": 0}
    seen = SimpleNamespace(name="NVIDIA L4", total_memory=24 * 10**9, uuid="b", **address)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: seen)
    monkeypatch.setattr(buses, "nvidia_smi", lambda *_: lines)
    pcie(tmp_path, "32.0 GT/s PCIe", 16)
    pcie(tmp_path, "16.0 GT/s PCIe", 8, "0000:1b:00.0")
    (link,) = gpu_links(tmp_path)
    assert (link.name, link.pcie, link.nvlink_gb_per_s) == ("NVIDIA L4", "PCIe 4 x8", 25.0)
