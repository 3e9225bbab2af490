"""What a wrong answer to chapter 05's exercises is told, and what it leaves behind."""

import gc
import threading
import time

import pytest
import torch

from course_utils.chapters.input_pipeline.worker_draws import drawn
from course_utils.lesson.exercises import Wrong, grade
from tests.chapters.input_pipeline import right_answers, wrong_answers, wrong_prefetchers


def said(answer, exercise="input.prefetched"):
    verdict = grade(exercise, answer)
    assert verdict.passed is False
    return verdict.message


@pytest.mark.parametrize(
    "answer, words",
    [
        ("no_thread", "batch 0 was loaded by the thread that asked for it"),
        ("last_in_first_out", " came where batch "),
        ("one_too_many", "loaded: want at most "),
        ("always_one", "while the consumer is busy with batch 0, the next "),
        ("none_is_the_end", ", which is None"),
        ("joins_a_thread_that_waits", "close() waits for ever"),
        ("never_closed", "after close(): your thread is still there"),
        ("takes_all_the_rest", "after close() your thread goes on loading"),
        ("an_error_is_the_end", "is broken'), and your generator ends"),
        ("empty_is_the_end", "your generator ended when batch 0 was being loaded"),
        ("waits_after_the_last", "at batch 3, waits for ever"),
        ("a_slip_in_the_thread", "your thread ended with AttributeError: 'Queue' object has no"),
    ],
)
def test_a_prefetcher_is_told_what_it_does(answer, words):
    assert words in said(getattr(wrong_prefetchers, answer))


def test_an_answer_that_waits_for_ever_is_told_so_within_seconds():
    begun = time.perf_counter()
    said(wrong_prefetchers.joins_a_thread_that_waits)
    assert time.perf_counter() - begun < 15


def test_a_right_prefetcher_leaves_no_thread_behind():
    before = threading.active_count()
    assert grade("input.prefetched", right_answers.by_a_pool).passed
    assert threading.active_count() <= before


def test_an_answer_that_spins_is_stopped():
    before = set(threading.enumerate())

    def spins(batches, depth):
        ready = []
        threading.Thread(target=lambda: ready.extend(batches)).start()
        while True:
            yield from ready

    said(spins)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_what_a_thread_raises_is_no_longer_kept_when_the_check_is_over():
    before = threading.excepthook
    said(wrong_prefetchers.a_slip_in_the_thread)
    assert threading.excepthook is before


def test_the_error_of_another_thread_of_the_page_is_not_taken_for_the_answers(monkeypatch):
    told, go = [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))

    def fail():
        go.wait(30)
        raise LookupError

    other = threading.Thread(target=fail)
    other.start()

    def prefetched(batches, depth):
        go.set()
        other.join(30)
        return right_answers.by_semaphores(batches, depth)

    assert grade("input.prefetched", prefetched).passed
    assert told == [LookupError]


def test_who_drew_the_same_number_is_named():
    message = said(wrong_answers.by_its_number, "input.seeds")
    assert message.startswith("worker 0 of 2 in epoch 0 and worker 0 of 2 in epoch 1 both drew")


def test_a_slip_in_a_worker_is_told_in_pythons_words():
    message = said(wrong_answers.a_slip, "input.seeds")
    assert message == "in a worker: AttributeError: " + message.partition("AttributeError: ")[2]
    assert "default_rgn" in message


def test_a_failed_worker_keeps_nobody_waiting_afterwards():
    said(wrong_answers.a_slip, "input.seeds")
    begun = time.perf_counter()
    gc.collect()
    assert time.perf_counter() - begun < 4  # torch waits 10 s for workers that nobody told to end


def test_a_worker_that_leaves_is_told_of():
    def leaves(worker_id):
        raise SystemExit(0)

    assert "exited unexpectedly" in said(leaves, "input.seeds")


def test_the_pages_own_random_numbers_go_on_as_if_nobody_had_seeded():
    torch.manual_seed(3)
    want = torch.rand(4)
    torch.manual_seed(3)
    assert grade("input.seeds", right_answers.by_torchs_seed).passed
    assert torch.equal(torch.rand(4), want)


def test_without_an_init_all_workers_draw_the_same_in_every_epoch():
    draws = drawn(lambda worker_id: None, 3, seed=0)
    by_worker = {
        (worker, epoch): [d.value for d in draws if (d.worker, d.epoch) == (worker, epoch)]
        for worker in range(3)
        for epoch in range(2)
    }
    assert len({tuple(values) for values in by_worker.values()}) == 1


def test_without_fork_one_is_told_where_the_check_runs(monkeypatch):
    monkeypatch.setattr("multiprocessing.get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(Wrong, match="On Windows, use WSL"):
        drawn(print, 2, seed=0)


def test_a_sample_that_is_read_twice_or_never_is_named():
    assert "which rank 0 reads too" in said(wrong_answers.fills_up, "input.resume")
    assert "nobody reads sample" in said(wrong_answers.drops_the_odd_ones, "input.resume")
    assert "seen before the stop" in said(wrong_answers.begins_anew, "input.resume")


def test_more_workers_than_pay_are_told_what_both_numbers_take():
    message = said(wrong_answers.starts_are_free, "input.workers")
    assert "want 6, which takes 23.5 s; your 16 takes 36.9375 s" in message
