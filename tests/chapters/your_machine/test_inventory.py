"""Processors as made-up /sys trees tell them: an EPYC, a hybrid, an ARM, a container, nothing."""

from types import SimpleNamespace

import psutil
import pytest

from course_utils.chapters.your_machine.inventory import Cache, listed_cpus, look
from course_utils.chapters.your_machine.machine_drawing import draw_box, sketch
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


def server(root):
    """Two sockets of two cores of two threads: 0-3 are the first threads, 4-7 the second."""
    for n in range(8):
        core, package, pair = n % 4, n % 4 // 2, f"{n % 4},{n % 4 + 4}"
        package_cpus = "0-1,4-5" if package == 0 else "2-3,6-7"
        write(root, cpu(n, core, package, pair))
        write(root, cache(n, 0, 1, "Data", "32K", pair))
        write(root, cache(n, 1, 1, "Instruction", "32K", pair))
        write(root, cache(n, 2, 2, "Unified", "1024K", pair))
        write(root, cache(n, 3, 3, "Unified", "32768K", package_cpus))


def test_sockets_cores_threads_and_caches_of_a_server_are_counted_once(tmp_path):
    server(tmp_path)
    box = look(tmp_path)
    assert (box.sockets, box.cores, box.threads) == (2, {"cores": 4}, 8)
    assert box.caches == (
        Cache(1, 32 * KIB, count=4),
        Cache(2, MIB, count=4),
        Cache(3, 32 * MIB, count=2),
    )
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
    assert box.caches == (Cache(2, 2 * MIB, count=2), Cache(2, 4 * MIB, count=1))


def test_an_arm_board_tells_capacities_and_neither_sockets_nor_sizes(tmp_path):
    for n in range(8):
        capacity = 1024 if n >= 6 else 446
        write(tmp_path, cpu(n, n % 4, package=-1, siblings=n, cpu_capacity=capacity))
        write(tmp_path, cache(n, 0, 1, "Data", None, n))
    box = look(tmp_path)
    assert (box.sockets, box.threads, box.caches) == (None, 8, ())
    assert box.cores == {"capacity 446 cores": 6, "capacity 1024 cores": 2}


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
    assert box.threads >= 1 and box.data_caches() == {}
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
    assert listed_cpus(listed) == found


@pytest.mark.parametrize(
    "told, ghz",
    [
        (SimpleNamespace(current=2100.0, max=0.0), 2.1),
        (SimpleNamespace(current=900.0, max=4800.0), 4.8),
        (SimpleNamespace(current=0.0, max=0.0), None),
        (None, None),
    ],
)
def test_the_clock_is_the_highest_that_the_system_tells(monkeypatch, told, ghz):
    monkeypatch.setattr(psutil, "cpu_freq", lambda: told)
    assert look().ghz == ghz


def test_a_system_that_hides_its_clock_tells_none(monkeypatch):
    def hidden():
        raise NotImplementedError("no cpufreq here")

    monkeypatch.setattr(psutil, "cpu_freq", hidden)
    assert look().ghz is None
