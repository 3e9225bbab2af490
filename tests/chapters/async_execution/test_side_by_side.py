"""Two queues at once: all begin together, under the interval that was asked for."""

import queue
import sys
import threading

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


def test_the_work_runs_under_the_interval_asked_for_which_is_put_back_even_after_an_error():
    before, seen = sys.getswitchinterval(), []

    class Broken(Queue):
        def synchronize(self):
            raise RuntimeError("lost")

    seconds_beside_a_loop(Queue(), Queue(), lambda: seen.append(sys.getswitchinterval()), 3e-3)
    assert seen == [pytest.approx(3e-3)] * 10 and sys.getswitchinterval() == before
    with pytest.raises(RuntimeError, match="lost"):
        seconds_beside_a_loop(Broken(), Queue(), lambda: None, 1e-3)
    assert sys.getswitchinterval() == before
