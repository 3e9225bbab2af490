"""What the exercise says of its step and of recompiling is what the installed torch does."""

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from course_utils.chapters.compile_and_graphs.fresh_compiles import fresh, quietly
from course_utils.chapters.compile_and_graphs.recompiling import (
    MOST,
    Watched,
    lists_of_texts,
    running_means,
    step,
)
from course_utils.lesson.exercises import grade
from tests.chapters.compile_and_graphs import wrong_answers

TEXTS = [torch.full((count,), 0.5) for count in (7, 7, 7, *range(10, 20))]


def compiled_at(calls):
    """At which calls of the step torch's own counter sees it compile."""
    counter, found = CompileCounter(), []
    compiled = torch.compile(fresh(step), backend=counter)
    with quietly():
        for call in calls:
            before = counter.frame_count
            compiled(*call)
            found.append(counter.frame_count - before)
    return found


def calls_with(label="later", weight=0.3, means=(1.0,), text=TEXTS[0]):
    """Calls in which one thing changes: what is a function is called with the call's number."""
    arguments = [text, label, weight, means]
    return [[one(k) if callable(one) else one for one in arguments] for k in range(12)]


@pytest.mark.parametrize(
    "calls, times",
    [
        (calls_with(), [1] + [0] * 11),
        (calls_with(label=lambda k: f"step {k + 1}"), [1] * 8 + [0] * 4),
        (calls_with(means=lambda k: [1.0] * (k + 1)), [1] * 8 + [0] * 4),
        (calls_with(weight=lambda k: 1 / (k + 2)), [1, 1] + [0] * 10),
        (calls_with(text=lambda k: TEXTS[k]), [1, 0, 0, 1] + [0] * 8),
    ],
    ids=["nothing", "label", "list", "weight", "text"],
)
def test_of_the_arguments_alone_label_and_list_compile_till_torch_gives_up(calls, times):
    assert compiled_at(calls) == times


def test_a_steady_loop_may_need_as_many_compilations_as_are_allowed():
    mean = torch.tensor(1.0)
    calls = [(t, "later" if k else "step 0", 1 / (k + 1), [mean]) for k, t in enumerate(TEXTS)]
    assert sum(compiled_at(calls)) == MOST


def test_the_slow_loop_returns_the_running_means():
    for texts in lists_of_texts():
        means = wrong_answers.slow_loop(step, texts)
        losses = torch.tensor([text.tanh().square().mean() for text in texts])
        want = losses.cumsum(0) / torch.arange(1, len(texts) + 1)
        torch.testing.assert_close(torch.tensor([*means]), want)
        torch.testing.assert_close(torch.tensor(running_means(texts)), want)


def test_texts_are_drawn_anew_and_more_than_torch_makes_versions():
    first, second = lists_of_texts(), lists_of_texts()
    assert not torch.equal(first[0][0], second[0][0])
    for texts in first[:3]:
        assert len(texts) > torch._dynamo.config.recompile_limit
    assert [len(texts) for texts in first[3:]] == [2, 1, 0]
    assert len(set(map(len, first[2]))) == 1


@pytest.mark.parametrize(
    "answer, named, unnamed",
    [
        (wrong_answers.slow_loop, ["labels ('step 0', 'step 1', …) and lists of"], []),
        (wrong_answers.steadies_the_list_alone, ["labels ('step 0', 'step 1', …)"], ["lists"]),
        (wrong_answers.steadies_the_label_alone, ["lengths (0, 1, …)"], ["labels"]),
        (wrong_answers.gradients_now_and_then, ["which argument changes?"], ["labels", "lists"]),
    ],
)
def test_a_loop_that_compiles_too_often_is_told_what_still_changes(answer, named, unnamed):
    message = grade("compile.steady_loop", answer).message
    assert message.startswith("compiled ") and "want at most 4" in message
    assert all(one in message for one in named) and not any(one in message for one in unnamed)


def test_a_loop_of_which_torch_has_given_up_is_told_so():
    message = grade("compile.steady_loop", wrong_answers.steadies_what_is_steady).message
    assert message.startswith("compiled 8 times") and "then gave up for the last" in message


@pytest.mark.parametrize("answer", ["gives_up_at_once", "compiles_nothing"])
def test_settings_of_torchs_are_no_way_round(answer):
    message = grade("compile.steady_loop", getattr(wrong_answers, answer)).message
    assert "calls ran without what was compiled" in message


def test_a_slip_is_told_in_pythons_words_and_not_in_dynamos():
    message = grade("compile.steady_loop", wrong_answers.a_weight_that_is_none).message
    assert message.startswith("your code raised TypeError: unsupported operand")
    assert "\n" not in message


def test_what_is_watched_was_never_compiled_before():
    for _ in range(2):
        watched = Watched()
        for text in (torch.ones(4), torch.ones(5), torch.ones(6)):
            watched.step(text, "step 0", 1.0, [])
        assert (watched.graphs.count, watched.graphs.runs, watched.calls) == (2, 3, 3)
