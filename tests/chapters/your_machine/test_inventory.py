"""The box as made-up /sys trees tell it: an EPYC, a hybrid, an ARM, a container, and nothing."""

import pytest

from course_utils.chapters.your_machine.buses import (
    Disk,
    GPULink,
    Network,
    disks,
    networks,
    pcie_gb_per_s,
    read_nvlinks,
    read_pcie,
)
from course_utils.chapters.your_machine.inventory import Cache, look, numbers
from course_utils.chapters.your_machine.machine_drawing import (
    amount,
    draw_box,
    sketch,
    sketch_server,
)
from course_utils.core.evidence import published

KIB, MIB = 2**10, 2**20


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def cpu(number, core=None, package=0, siblings=None, **more):
    """The files of one processor; `more` are further files below its folder."""
    at = f"sys/devices/system/cpu/cpu{number}"
    core = number if core is None else core
    topology = {"core_id": core, "physical_package_id": package, "core_cpus_list": siblings}
    told = {f"{at}/topology/{name}": text for name, text in topology.items() if text is not None}
    return told | {f"{at}/{name}": text for name, text in more.items()}


def cache(number, index, level, kind, size, shared):
    at = f"sys/devices/system/cpu/cpu{number}/cache/index{index}"
    told = {"level": level, "type": kind, "size": size, "shared_cpu_list": shared}
    return {f"{at}/{name}": text for name, text in told.items() if text is not None}


def server(root):
    """Two sockets of two cores of two threads: 0-3 are the first threads, 4-7 the second."""
    for n in range(8):
        core, package, pair = n % 4, n % 4 // 2, f"{n % 4},{n % 4 + 4}"
        package_cpus = "0-1,4-5" if package == 0 else "2-3,6-7"
        write(root, cpu(n, core, package, pair))
        write(root, cache(n, 0, 1, "Data", "32K", pair))
        write(root, cache(n, 1, 1, "Instruction", "32K", pair))
        write(root, cache(n, 2, 2, "Unified", "1024K", pair))
        write(root, cache(n, 3, 3, "Unified", "32M", package_cpus))


def test_sockets_cores_threads_and_caches_of_a_server_are_counted_once(tmp_path):
    server(tmp_path)
    box = look(tmp_path)
    assert (box.sockets, box.cores, box.threads) == (2, {"cores": 4}, 8)
    assert box.caches == (
        Cache(1, "Data", 32 * KIB, 4, 2),
        Cache(1, "Instruction", 32 * KIB, 4, 2),
        Cache(2, "Unified", MIB, 4, 2),
        Cache(3, "Unified", 32 * MIB, 2, 4),
    )
    assert box.largest_cache == 32 * MIB
    assert box.data_caches() == {32 * KIB: "L1", MIB: "L2", 32 * MIB: "L3"}


def test_a_processor_that_is_switched_off_isnt_there(tmp_path):
    server(tmp_path)
    for n in range(4, 8):
        write(tmp_path, {f"sys/devices/system/cpu/cpu{n}/online": 0})
    assert look(tmp_path).threads == 4


def test_a_hybrids_two_kinds_of_core_are_told_apart(tmp_path):
    for n in range(4):  # two performance cores of two threads
        write(tmp_path, cpu(n, n // 2, siblings=f"{n // 2 * 2}-{n // 2 * 2 + 1}"))
        write(tmp_path, cache(n, 2, 2, "Unified", "2048K", f"{n // 2 * 2}-{n // 2 * 2 + 1}"))
    for n in range(4, 8):  # four efficient ones, which share an L2
        write(tmp_path, cpu(n, siblings=n))
        write(tmp_path, cache(n, 2, 2, "Unified", "4096K", "4-7"))
    write(tmp_path, {"sys/devices/cpu_core/cpus": "0-3", "sys/devices/cpu_atom/cpus": "4-7"})
    box = look(tmp_path)
    assert box.cores == {"performance cores": 2, "efficiency cores": 4}
    assert box.caches == (Cache(2, "Unified", 2 * MIB, 2, 2), Cache(2, "Unified", 4 * MIB, 1, 4))


def test_an_arm_board_tells_capacities_and_neither_sockets_nor_sizes(tmp_path):
    for n in range(8):
        capacity = 1024 if n >= 6 else 446
        write(tmp_path, cpu(n, n % 4, package=-1, siblings=n, cpu_capacity=capacity))
        write(tmp_path, cache(n, 0, 1, "Data", None, n))
    box = look(tmp_path)
    assert (box.sockets, box.threads, box.caches) == (None, 8, ())
    assert box.cores == {"capacity 446 cores": 6, "capacity 1024 cores": 2}


def test_before_linux_5_3_siblings_have_another_name(tmp_path):
    for n in range(2):
        at = f"sys/devices/system/cpu/cpu{n}/topology"
        write(tmp_path, {f"{at}/thread_siblings_list": "0-1"})
    assert look(tmp_path).cores == {"cores": 1}


def test_a_containers_share_is_told(tmp_path):
    cgroup = "sys/fs/cgroup"
    write(tmp_path, {f"{cgroup}/memory.max": 2**31, f"{cgroup}/cpu.max": "150000 100000"})
    assert (look(tmp_path).limit_bytes, look(tmp_path).cpu_limit) == (2**31, 1.5)
    write(tmp_path, {f"{cgroup}/memory.max": "max", f"{cgroup}/cpu.max": "max 100000"})
    assert (look(tmp_path).limit_bytes, look(tmp_path).cpu_limit) == (None, None)


@pytest.mark.parametrize("text", ["", "nonsense", "-1", "3-", "\x00\xff"])
def test_broken_files_are_taken_as_not_told(tmp_path, text):
    write(tmp_path, cpu(0, siblings=text) | cache(0, 0, text, "Data", text, text))
    box = look(tmp_path)
    assert (box.cores, box.threads, box.caches) == ({"cores": 1}, 1, ())


def test_where_the_system_tells_nothing_the_diagram_says_so(tmp_path):
    box = look(tmp_path)
    assert (box.sockets, box.cores, box.caches, box.disks, box.networks) == (None, {}, (), (), ())
    assert box.threads >= 1 and box.largest_cache is None and box.data_caches() == {}
    shown = sketch(box)
    assert shown.caches == (("caches: this system doesn't tell", 1.0),)
    assert "cores not told" in shown.processor
    assert {"disk: not told", "network: not told"} <= {branch.part for branch in shown.branches}
    assert draw_box("A box", shown).png.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "listed, found",
    [("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), ("a-b", []), ("1,", []), ("-1", [])],
)
def test_a_list_of_processors_is_read(listed, found):
    assert numbers(listed) == found


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


def test_a_machine_with_gpus_shows_their_links():
    box = look().__class__(
        **{
            **vars(look()),
            "gpus": (GPULink("NVIDIA H200", 141 * 10**9, "PCIe 5 x16", 63.0, 478.1),) * 8,
        }
    )
    branch = sketch(box).branches[-1]
    assert (branch.part, branch.squares) == ("8 × H200, 141 GB", 8)
    assert branch.way == "PCIe 5 x16\n63 GB/s" and branch.between == "NVLink, 478 GB/s each"
    assert draw_box("Two", sketch(box), sketch_server(published("gpu_server"))).png


@pytest.mark.parametrize(
    "n_bytes, base, text",
    [
        (32 * KIB, 1024, "32 KiB"),
        (3 * MIB // 2, 1024, "1.5 MiB"),
        (141e9, 1000, "141 GB"),
        (0, 1000, "0 B"),
    ],
)
def test_an_amount_stands_in_the_unit_that_keeps_it_short(n_bytes, base, text):
    assert amount(n_bytes, base) == text
