"""A held queue runs nothing until it is released."""

import queue
import threading

from course_utils.chapters.async_execution.side_by_side import hold


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


def test_a_held_queue_runs_nothing_until_it_is_released():
    on, done = Queue(), []
    release = hold(on)
    on.launch(lambda: done.append(1))
    assert not done
    release()
    on.synchronize()
    assert done == [1]
