"""What a wrong answer to chapter 05's exercises is told, and what it leaves behind."""

import multiprocessing
import threading

import pytest
import torch

from course_utils.chapters.input_pipeline.exercises import drawn
from course_utils.lesson.exercises import Wrong, grade
from tests.chapters.input_pipeline import right_answers, wrong_answers, wrong_prefetchers

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def said(answer, exercise="input.prefetched"):
    verdict = grade(exercise, answer)
    assert verdict.passed is False
    return verdict.message


@pytest.mark.parametrize(
    "answer, words",
    [
        ("no_thread", "batch 0 was loaded by the thread that asked for it"),
        ("last_in_first_out", "which is 'the data of batch 0', you give 'the data of"),
        ("one_too_many", "loaded: want at most "),
        ("always_one", "while the consumer is busy with batch 0, the next "),
        ("none_is_the_end", ", which is None, you give the end"),
        ("joins_a_thread_that_waits", "close() waits for ever"),
        ("never_closed", "after close(): your thread is still there"),
        ("takes_all_the_rest", "after close() your thread goes on loading"),
        ("an_error_is_the_end", "is broken'), and your generator ends"),
        ("waits_after_the_last", "at batch 3, waits for ever"),
        ("a_slip_in_the_thread", "loads begun: 1, and your thread has ended"),
    ],
)
def test_a_prefetcher_is_told_what_it_does(answer, words):
    assert words in said(getattr(wrong_prefetchers, answer))


def spins(batches, depth):
    ready = []
    threading.Thread(target=lambda: ready.extend(batches)).start()
    while True:
        yield from ready


@pytest.mark.parametrize("answer, passes", [(right_answers.by_a_pool, True), (spins, False)])
def test_a_right_prefetcher_and_one_that_spins_leave_no_thread_behind(answer, passes):
    before = set(threading.enumerate())
    assert grade("input.prefetched", answer).passed is passes
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()


def leaves(worker_id):
    raise SystemExit(0)


@pytest.mark.parametrize(
    "answer, begins, words",
    [
        ("by_its_number", "worker 0 of 2 in epoch 0 and worker 0 of 2 in epoch 1 both drew", ""),
        ("a_slip", "in a worker: AttributeError: ", "default_rgn"),
        (leaves, "in a worker: ", "exited unexpectedly"),
    ],
)
def test_equal_draws_a_slip_and_an_end_in_a_worker_are_told_and_no_worker_is_left(
    answer, begins, words
):
    before = set(multiprocessing.active_children())
    answer = answer if callable(answer) else getattr(wrong_answers, answer)
    message = said(answer, "input.seeds")
    assert message.startswith(begins) and words in message
    for worker in set(multiprocessing.active_children()) - before:  # torch waits 5 s for each
        worker.join(60)
        assert not worker.is_alive()


def test_the_pages_own_random_numbers_go_on_as_if_nobody_had_seeded():
    torch.manual_seed(3)
    want = torch.rand(4)
    torch.manual_seed(3)
    draws = drawn(lambda worker_id: None, 3, seed=0)
    assert torch.equal(torch.rand(4), want)
    by_worker = {}
    for draw in draws:
        by_worker.setdefault((draw.worker, draw.epoch), []).append(draw.value)
    drawn_alike = set(map(tuple, by_worker.values()))
    assert len(by_worker) == 6 and len(drawn_alike) == 1, "without an init all draw the same"


def test_without_fork_one_is_told_where_the_check_runs(monkeypatch):
    monkeypatch.setattr("multiprocessing.get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(Wrong, match="On Windows, use WSL"):
        drawn(print, 2, seed=0)


def test_too_many_workers_are_told_what_each_number_takes():
    message = said(wrong_answers.starts_are_free, "input.workers")
    assert "you gave " in message and " (seconds with 0 workers, 1, …: " in message
