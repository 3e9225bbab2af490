"""`measure`: what it repeats, drops and reports, on a machine whose clock the test turns.

Torch's and Triton's timers: test_timing_torch.
"""

import gc
import subprocess
import sys
import time
from itertools import count
from types import SimpleNamespace

import psutil
import pytest

from course_utils.core import timing
from course_utils.core.timing import measure, measure_rounds

pytestmark = pytest.mark.without_torch


class VirtualMachine:
    """`others` says how many cores other programs take at a time; work takes as long as it says."""

    def __init__(self):
        self.now, self.spent, self.others = 0.0, 0.0, lambda now: 0.0

    def work(self, seconds):
        self.spent += seconds * self.others(self.now)
        self.now += seconds


@pytest.fixture
def machine(monkeypatch):
    made = VirtualMachine()
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: made.now))
    monkeypatch.setattr(timing, "others_seconds", lambda: made.spent)
    return made


def test_a_steady_function_is_measured_exactly_and_stops_before_its_budget(machine):
    found = measure(lambda: machine.work(0.01), budget_seconds=30)
    assert found.median == pytest.approx(0.01) and found.n == found.offered
    assert machine.now < 1


def test_warm_up_is_not_counted_and_unsteady_work_is_repeated_to_the_end_of_the_budget(machine):
    seconds = iter([0.2, 0.2, *[0.001, 0.003] * 1000])
    found = measure(lambda: machine.work(next(seconds)), warmup=2, budget_seconds=0.5)
    assert max(found.values) == pytest.approx(0.003)
    assert machine.now >= 0.9


def test_repetitions_beside_a_busy_program_are_dropped(machine):
    machine.others = lambda now: 4.0 * (0.1 < now < 0.25)
    found = measure(
        lambda: machine.work(0.004 if machine.others(machine.now) else 0.002), precision=0
    )
    assert max(found.values) == pytest.approx(0.002)
    assert 20 < found.n < found.offered


@pytest.mark.parametrize(
    "busy_from, others",
    [(0, 0.9), (7, 0.4)],  # of the five repetitions from 3 s on, all or only the last
)
def test_where_too_few_are_quiet_all_are_kept_and_it_says_how_disturbed_they_were(
    busy_from, others, machine
):
    machine.others = lambda now: others * (now >= busy_from)
    found = measure(lambda: machine.work(1.0), warmup=2, budget_seconds=5)
    assert found.n == found.offered and found.others == pytest.approx(others)
    assert f"others took ≈ {others:.2f} cores" in str(found)


def test_a_system_that_does_not_tell_is_said_not_to(monkeypatch, tmp_path):
    monkeypatch.setattr(psutil, "cpu_times", lambda: (tmp_path / "stat").read_text())
    found = measure(lambda: None, budget_seconds=0.01)
    assert found.others is None and "doesn't tell" in str(found)


BURN = (
    "import sys, time\nwhile time.process_time() < 0.5: pass\nprint(flush=True); sys.stdin.read()"
)
told = pytest.mark.skipif(timing.others_seconds() is None, reason="this system doesn't tell")


@pytest.fixture
def burner():
    """A child that has used half a second of a processor, and still runs."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", BURN], **pipes) as child:
        child.stdout.readline()
        yield child
        child.stdin.close()


@told
def test_the_guard_sees_what_another_program_used(request):
    before = timing.others_seconds()
    request.getfixturevalue("burner")
    assert timing.others_seconds() > before + 0.4


@told
def test_what_we_our_ranks_and_our_ended_children_used_is_not_held_against_others(
    burner, monkeypatch
):
    everyone = psutil.cpu_times()
    monkeypatch.setattr(psutil, "cpu_times", lambda: everyone)  # nobody else computes from now on
    left = [timing.others_seconds()]
    monkeypatch.setattr(timing, "local_ranks", {burner.pid})
    left.append(timing.others_seconds())
    burner.stdin.close()
    burner.wait()  # from here on it isn't a rank, but an ended child
    left.append(timing.others_seconds())
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass
    left.append(timing.others_seconds())
    assert left[1] < left[0] - 0.4 and left[2] < left[0] - 0.4 and left[3] < left[2] - 0.4


def test_garbage_collection_is_off_while_measuring_and_back_on_after():
    seen = []
    measure(lambda: seen.append(gc.isenabled()), budget_seconds=0.01)
    assert not seen[-1] and gc.isenabled()


def test_rounds_measure_all_their_keys_together_and_wait_for_quiet_but_not_for_ever(machine):
    rounds = count(9, -1)

    def one_round():
        machine.work(1.0)
        number = next(rounds)
        return {"a": number, "b": 2 * number}

    found = measure_rounds(one_round, times=3)
    assert (found["a"].values, found["b"].values) == ((8, 7, 6), (16, 14, 12))  # after a warm-up
    machine.others = lambda now: now % 3
    some = measure_rounds(one_round, times=4)["a"]
    assert 2 <= some.n < some.offered
    machine.others = lambda now: 1.0
    none = measure_rounds(one_round, times=4)["a"]
    assert none.n == none.offered == 4 * timing.PATIENCE


def test_a_clock_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="not 'sundial'"):
        measure(lambda: None, clock="sundial")
