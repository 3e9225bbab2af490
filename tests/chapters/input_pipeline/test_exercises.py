"""What a wrong answer to chapter 05's exercises is told, and what it leaves behind."""

import multiprocessing

import pytest
import torch

from course_utils.chapters.input_pipeline.exercises import drawn
from course_utils.lesson.exercises import Wrong, grade
from tests.chapters.input_pipeline import wrong_answers


def said(answer, exercise):
    verdict = grade(exercise, answer)
    assert verdict.passed is False
    return verdict.message


@pytest.mark.parametrize(
    "answer, words",
    [
        ("one_at_a_time", " are enough"),
        ("one_over", "tokens with its padding, over the budget"),
        ("drops_one", "want each of them once"),
        ("one_list", "want a list"),
    ],
)
def test_batches_are_told_what_is_wrong_with_them(answer, words):
    assert words in said(getattr(wrong_answers, answer), "input.batches")


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
