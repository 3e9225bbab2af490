"""Two queues at once: all begin together, each does its work so many times, and time is theirs."""

import contextlib
import queue
import sys
import threading
import time

import pytest

from course_utils.chapters.async_execution.side_by_side import drain, seconds_beside_a_loop


class Queue:
    """A worker thread as chapter 2 writes it."""

    def __init__(self):
        self.commands = queue.SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            self.commands.get()()

    def launch(self, work):
        self.commands.put(work)

    def synchronize(self):
        done = threading.Event()
        self.launch(done.set)
        done.wait()


def hold(on):
    gate = threading.Event()
    on.launch(gate.wait)
    return gate.set


def test_queues_that_are_drained_together_run_side_by_side_and_do_all_their_work():
    done, meet = [], threading.Barrier(2, timeout=20)

    def work(name):  # an item ends only beside one of the other queue
        def one():
            with contextlib.suppress(threading.BrokenBarrierError):
                meet.wait()
                done.append(name)

        return one

    drain(hold, (Queue(), work("a")), (Queue(), work("b")), count=10)
    assert sorted(done) == ["a"] * 10 + ["b"] * 10


def test_the_time_ends_with_the_last_item_of_the_slower_queue():
    done = []
    slow = (Queue(), lambda: time.sleep(0.01) or done.append(1))
    assert drain(hold, (Queue(), lambda: None), slow, count=10) >= 0.1 and len(done) == 10


def test_nothing_runs_before_every_queue_is_full():
    done, seen = [], []

    def held(on):
        release = hold(on)

        def let_go():
            seen.append((len(done), on.commands.qsize() >= 7))
            release()

        return let_go

    drain(held, (Queue(), lambda: done.append(1)), count=7)
    assert seen == [(0, True)] and len(done) == 7


def test_a_loop_of_python_holds_up_what_needs_the_gil_for_the_interval():
    before = sys.getswitchinterval()

    def shortest(interval):
        times = (
            seconds_beside_a_loop(Queue(), Queue(), lambda: time.sleep(1e-3), interval)
            for _ in range(4)
        )
        return min(times)

    assert shortest(2e-2) > 4 * shortest(1e-4)
    assert sys.getswitchinterval() == before


def test_the_work_runs_under_the_interval_that_was_asked_for():
    seen = []
    seconds_beside_a_loop(Queue(), Queue(), lambda: seen.append(sys.getswitchinterval()), 3e-3)
    assert seen == [pytest.approx(3e-3)] * 10


def test_the_interval_is_put_back_after_an_error():
    before = sys.getswitchinterval()

    class Broken(Queue):
        def synchronize(self):
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        seconds_beside_a_loop(Broken(), Queue(), lambda: None, 1e-3)
    assert sys.getswitchinterval() == before
