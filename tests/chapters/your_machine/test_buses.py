"""Disks, networks and the links of GPUs, as made-up folders and NVIDIA's driver tell them."""

import pytest

from course_utils.chapters.your_machine.buses import (
    Disk,
    Network,
    disks,
    networks,
    pcie_gb_per_s,
    read_nvlinks,
    read_pcie,
)
from tests.chapters.your_machine.test_inventory import write


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


@pytest.mark.parametrize(
    "gt_per_s, lanes, gb_per_s",
    [
        (2.5, 16, 4.0),
        (5, 16, 8.0),
        (8, 16, 15.754),
        (16, 16, 31.508),
        (32, 16, 63.015),
        (64, 16, 128),
    ],
)
def test_a_pcie_link_carries_what_the_tables_say(gt_per_s, lanes, gb_per_s):
    assert pcie_gb_per_s(gt_per_s, lanes) == pytest.approx(gb_per_s, abs=0.001)


def test_a_gpus_widest_pcie_link_is_read_at_its_address(tmp_path):
    at = "sys/bus/pci/devices/0000:1a:00.0"
    write(tmp_path, {f"{at}/max_link_speed": "32.0 GT/s PCIe", f"{at}/max_link_width": 16})
    assert read_pcie(tmp_path, [0, 0x1A, 0]) == ("PCIe 5 x16", pytest.approx(63.015, abs=0.001))
    assert read_pcie(tmp_path, [0, 0x1B, 0]) == (None, None)
    assert read_pcie(tmp_path, [None, 0x1A, 0]) == (None, None)
    write(tmp_path, {f"{at}/max_link_speed": "Unknown", f"{at}/max_link_width": 255})
    assert read_pcie(tmp_path, [0, 0x1A, 0]) == (None, None)


def test_nvlinks_of_a_gpu_are_added():
    said = "\n".join(
        f"GPU {gpu}: NVIDIA H200 (UUID: GPU-x)\n"
        + "\n".join(f"\t Link {link}: 26.562 GB/s" for link in range(18))
        for gpu in range(2)
    )
    assert read_nvlinks(said) == pytest.approx({0: 478.116, 1: 478.116})
    assert read_nvlinks("") == {}
    assert read_nvlinks("GPU 0: NVIDIA H200\n\t Link 0: <inactive>\n") == {}
