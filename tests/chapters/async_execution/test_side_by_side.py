"""Two queues at once: both are full before either begins."""

import queue
import threading

import pytest

from course_utils.chapters.async_execution import side_by_side
from course_utils.chapters.async_execution.side_by_side import drain, hold, three_times


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

    def wait_event(self, event):
        self.launch(event.wait)

    def synchronize(self):
        done = threading.Event()
        self.launch(done.set)
        done.wait()


def test_nothing_runs_before_every_queue_is_full(monkeypatch):
    done, seen, first, second = [], [], Queue(), Queue()

    def held(on):
        release = hold(on)

        def let_go():
            seen.append((len(done), [q.commands.qsize() >= 6 for q in (first, second)]))
            release()

        return let_go

    monkeypatch.setattr(side_by_side, "hold", held)
    drain((first, lambda: done.append(1)), (second, lambda: done.append(2)), count=7)
    assert seen[0] == (0, [True, True]) and sorted(done) == [1] * 7 + [2] * 7


def test_a_held_queue_runs_nothing_until_it_is_released():
    on, done = Queue(), []
    release = hold(on)
    on.launch(lambda: done.append(1))
    assert not done
    release()
    on.synchronize()
    assert done == [1]


def test_the_three_times_of_work_are_told_apart():
    on, clock = Queue(), threading.Event()
    found = three_times(on, lambda: clock.wait(0.02), 5)
    assert found["t2_seconds"] == pytest.approx(0.02, rel=0.9)  # without the wait in the queue
    assert found["t1_seconds"] < 0.01 and found["t3_seconds"] < 0.02
