"""`measure`: what it repeats, drops and reports. Torch's and Triton's timers: test_timing_torch."""

import gc
import subprocess
import sys
import time
from itertools import chain, repeat
from types import SimpleNamespace

import psutil
import pytest

from course_utils.core import timing
from course_utils.core.timing import measure, measure_rounds

pytestmark = pytest.mark.without_torch

told = pytest.mark.skipif(timing.others_seconds() is None, reason="this system doesn't tell")


def test_a_sleep_is_not_measured_shorter_than_it_is():
    assert measure(lambda: time.sleep(0.01), budget_seconds=0.1).median >= 0.01


def test_warm_up_is_not_counted():
    calls = []

    def slow_at_first():
        calls.append(1)
        time.sleep(0.2 if len(calls) <= 2 else 0.001)

    assert max(measure(slow_at_first, warmup=2, budget_seconds=0.05).values) < 0.2


class Quiet(timing.OthersClock):
    def cores(self):
        return 0.0


def test_a_steady_function_stops_before_its_budget(monkeypatch):
    monkeypatch.setattr(timing, "OthersClock", Quiet)
    start = time.perf_counter()
    measure(lambda: time.sleep(0.001), budget_seconds=30, precision=10)
    assert time.perf_counter() - start < 10


class Busy(timing.OthersClock):
    """Others take all of every other block."""

    turn = 0

    def cores(self):
        Busy.turn += 1
        return float(Busy.turn % 2)


def test_repetitions_beside_a_busy_program_are_dropped(monkeypatch):
    monkeypatch.setattr(timing, "OthersClock", Busy)
    m = measure(lambda: time.sleep(0.002), budget_seconds=0.4, precision=0)
    assert 0 < m.n < m.offered


class AlwaysBusy(timing.OthersClock):
    def cores(self):
        return 1.0


def test_where_no_moment_is_quiet_all_are_kept_and_it_says_so(monkeypatch):
    monkeypatch.setattr(timing, "OthersClock", AlwaysBusy)
    m = measure(lambda: time.sleep(0.002), budget_seconds=0.2)
    assert m.n == m.offered
    assert "others took ≈ 1.00 cores" in str(m)


def test_what_was_disturbed_in_short_is_not_called_quiet_as_a_whole(monkeypatch):
    clocks = chain([Quiet()], repeat(AlwaysBusy()))  # that of all repetitions, of single blocks
    monkeypatch.setattr(timing, "OthersClock", lambda: next(clocks))
    assert measure(lambda: time.sleep(0.002), budget_seconds=0.1).others == 1.0


def test_a_system_that_does_not_tell_is_said_not_to(monkeypatch, tmp_path):
    monkeypatch.setattr(psutil, "cpu_times", lambda: (tmp_path / "stat").read_text())
    m = measure(lambda: time.sleep(0.001), budget_seconds=0.05)
    assert m.others is None
    assert "doesn't tell" in str(m)


@told
def test_the_guard_sees_another_program_and_not_our_own_work():
    clock, end = timing.OthersClock(), time.perf_counter() + 1
    while time.perf_counter() < end:
        pass
    own = clock.cores()
    code = "import time; end = time.time() + 2\nwhile time.time() < end: pass"
    other = subprocess.Popen([sys.executable, "-c", code])
    time.sleep(0.3)
    clock = timing.OthersClock()
    time.sleep(1)
    beside = clock.cores()
    other.wait()
    assert beside > 0.5
    assert own < beside + 0.8  # other tests may run beside us: only our own second must be left out


@told
def test_what_ranks_compute_is_not_held_against_others(monkeypatch):
    crew = SimpleNamespace(processes=set())
    monkeypatch.setitem(sys.modules, timing.RANKS, crew)
    code = "import time\nwhile time.process_time() < 0.5: pass\ninput()"
    rank = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    while sum(psutil.Process(rank.pid).cpu_times()[:2]) < 0.4:
        time.sleep(0.05)
    as_a_stranger = timing.others_seconds()
    crew.processes.add(rank.pid)
    assert timing.others_seconds() < as_a_stranger - 0.2
    rank.communicate(b"\n")
    assert timing.others_seconds() > 0  # one that has ended costs nothing, and is no error


@told
def test_what_a_child_computed_is_not_held_against_others(monkeypatch):
    monkeypatch.setattr(psutil, "cpu_times", lambda: SimpleNamespace(user=1e6))
    before = timing.others_seconds()
    code = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert timing.others_seconds() < before - 0.4


def test_garbage_collection_is_off_while_measuring_and_back_on_after():
    seen = []
    measure(lambda: seen.append(gc.isenabled()), budget_seconds=0.01)
    assert not seen[-1] and gc.isenabled()


def test_rounds_measure_all_their_keys_together(monkeypatch):
    calls = []

    def one_round():
        calls.append(1)
        return {"a": float(len(calls)), "b": 2.0 * len(calls)}

    monkeypatch.setattr(timing, "OthersClock", Quiet)
    found = measure_rounds(one_round, times=3)
    assert len(calls) == 4  # the first warms up
    assert found["b"].median == 2 * found["a"].median


def test_rounds_wait_for_quiet_but_not_for_ever(monkeypatch):
    monkeypatch.setattr(timing, "OthersClock", Busy)
    some = measure_rounds(lambda: {"a": 1.0}, times=4)["a"]
    assert 2 <= some.n < some.offered
    monkeypatch.setattr(timing, "OthersClock", AlwaysBusy)
    none = measure_rounds(lambda: {"a": 1.0}, times=4)["a"]
    assert none.n == none.offered == 4 * timing.PATIENCE


def test_a_clock_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="not 'sundial'"):
        measure(lambda: None, clock="sundial")
