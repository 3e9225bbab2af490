"""Processors as made-up /sys trees tell them: an EPYC, a hybrid, an ARM, a container, nothing."""

import pytest

from course_utils.chapters.your_machine.inventory import Cache, listed_cpus, look
from course_utils.chapters.your_machine.machine_drawing import sketch
from tests.support.trees import write

KIB, MIB = 2**10, 2**20


def cpu(number, core=None, package=0, siblings=None, **more):
    """The files of one processor; `more` are further files below its folder."""
    at = f"sys/devices/system/cpu/cpu{number}"
    core = number if core is None else core
    topology = {"core_id": core, "physical_package_id": package, "thread_siblings_list": siblings}
    told = {f"{at}/topology/{name}": text for name, text in topology.items() if text is not None}
    return told | {f"{at}/{name}": text for name, text in more.items()}


def cache(number, index, level, kind, size, shared):
    at = f"sys/devices/system/cpu/cpu{number}/cache/index{index}"
    told = {"level": level, "type": kind, "size": size, "shared_cpu_list": shared}
    return {f"{at}/{name}": text for name, text in told.items() if text is not None}


def test_a_servers_sockets_cores_threads_and_caches_are_counted_once(tmp_path):
    """Two sockets of two cores of two threads: 0-3 are the first threads, 4-7 the second."""
    for n in range(8):
        core, package, pair = n % 4, n % 4 // 2, f"{n % 4},{n % 4 + 4}"
        package_cpus = "0-1,4-5" if package == 0 else "2-3,6-7"
        write(tmp_path, cpu(n, core, package, pair))
        write(tmp_path, cache(n, 0, 1, "Data", "32K", pair))
        write(tmp_path, cache(n, 1, 1, "Instruction", "32K", pair))
        write(tmp_path, cache(n, 2, 2, "Unified", "1024K", pair))
        write(tmp_path, cache(n, 3, 3, "Unified", "32768K", package_cpus))
    box = look(tmp_path)
    assert (box.sockets, box.cores, box.threads) == (2, {"cores": 4}, 8)
    l1, l2, l3 = 32 * KIB, MIB, 32 * MIB
    assert box.caches == (Cache(1, l1, count=4), Cache(2, l2, count=4), Cache(3, l3, count=2))
    assert box.data_caches() == {l1: "L1", l2: "L2", l3: "L3"}
    write(tmp_path, {f"sys/devices/system/cpu/cpu{n}/online": 0 for n in range(4, 8)})
    assert look(tmp_path).threads == 4, "processors that are switched off don't count"


def test_a_hybrids_two_kinds_of_core_are_told_apart(tmp_path):
    for n in range(4):  # two performance cores of two threads
        pair = f"{n // 2 * 2}-{n // 2 * 2 + 1}"
        write(tmp_path, cpu(n, n // 2, siblings=pair) | cache(n, 2, 2, "Unified", "2048K", pair))
    for n in range(4, 8):  # four efficient ones, which share an L2
        write(tmp_path, cpu(n, siblings=n) | cache(n, 2, 2, "Unified", "4096K", "4-7"))
    write(tmp_path, {"sys/devices/cpu_core/cpus": "0-3", "sys/devices/cpu_atom/cpus": "4-7"})
    box = look(tmp_path)
    assert box.cores == {"performance cores": 2, "efficiency cores": 4}
    assert box.caches == (Cache(2, 2 * MIB, count=2), Cache(2, 4 * MIB, count=1))


def test_an_arm_board_tells_capacities_and_neither_sockets_nor_sizes(tmp_path):
    for n in range(8):
        capacity = 1024 if n >= 6 else 446
        write(tmp_path, cpu(n, n % 4, package=-1, siblings=n, cpu_capacity=capacity))
        write(tmp_path, cache(n, 0, 1, "Data", None, n))
    box = look(tmp_path)
    assert (box.sockets, box.threads, box.caches) == (None, 8, ())
    assert box.cores == {"capacity 446 cores": 6, "capacity 1024 cores": 2}


@pytest.mark.parametrize(
    "memory, cpus, found",
    [(2**31, "150000 100000", (2**31, 1.5)), ("max", "max 100000", (None, None))],
)
def test_a_containers_share_is_told(tmp_path, memory, cpus, found):
    write(tmp_path, {"sys/fs/cgroup/memory.max": memory, "sys/fs/cgroup/cpu.max": cpus})
    box = look(tmp_path)
    assert (box.limit_bytes, box.cpu_limit) == found


@pytest.mark.parametrize("text", ["", "nonsense", "-1", "3-", "\x00\xff"])
def test_broken_files_are_taken_as_not_told(tmp_path, text):
    write(tmp_path, cpu(0, siblings=text) | cache(0, 0, text, "Data", text, text))
    box = look(tmp_path)
    assert (box.cores, box.threads, box.caches) == ({"cores": 1}, 1, ())
    assert listed_cpus(text) == listed_cpus("a-b") == listed_cpus("1,") == []
    assert listed_cpus("0-3,8") == [0, 1, 2, 3, 8]


def test_where_the_system_tells_nothing_the_diagram_says_so(tmp_path):
    box = look(tmp_path)
    assert (box.sockets, box.cores, box.caches, box.disks, box.networks) == (None, {}, (), (), ())
    assert box.threads >= 1 and box.data_caches() == {}
    shown = sketch(box)
    assert shown.caches == (("caches: this system doesn't tell", 1.0),)
    assert "cores not told" in shown.processor
    assert {"disk: not told", "network: not told"} <= {branch.part for branch in shown.branches}
