"""Addition as text: true sums, seeded batches, whole answers. (Chapter 7's page trains on it.)"""

import pytest
import torch

from course_utils.workloads.addition import (
    ANSWER,
    PROMPT,
    Addition,
    answer_loss,
    decode,
    exact_match,
    line,
)
from course_utils.workloads.gpt import GPT, GPTConfig


@pytest.mark.parametrize(
    "a, b, reverse, text",
    [(99, 99, False, "99+99=198"), (12, 34, True, "12+34=64\n"), (50, 60, True, "50+60=011")],
)
def test_a_line_is_a_sum_as_text(a, b, reverse, text):
    assert line(a, b, reverse) == text


def test_every_line_is_a_true_sum_none_is_in_both_parts_and_batches_are_seeded():
    data = Addition()
    assert torch.equal(*(next(data.batches(8, seed=1)) for _ in range(2)))
    lines = [decode(row) for row in torch.cat([data.train, data.held_out])]
    assert len(lines) == len(set(lines)) == 8100
    for text in lines:
        a, b, total = text.strip().replace("=", "+").split("+")
        assert int(a) + int(b) == int(total)


def test_exact_match_counts_whole_answers_only():
    lines = Addition().held_out[:100]

    class Oracle(torch.nn.Module):
        """Knows all answers, but writes a wrong last character in every second line."""

        def forward(self, written):
            full = lines.clone()
            full[::2, -1] = (full[::2, -1] + 1) % 10
            return torch.nn.functional.one_hot(full[:, 1 : written.shape[1] + 1], 13).float()

    assert exact_match(Oracle(), lines) == 0.5


def test_the_loss_is_on_the_answer_alone():
    model, lines = GPT(GPTConfig.tiny()), torch.randint(13, (4, 9))
    logits = model(lines[:, :-1])[:, -ANSWER:]
    want = torch.nn.functional.cross_entropy(logits.reshape(-1, 13), lines[:, PROMPT:].reshape(-1))
    torch.testing.assert_close(answer_loss(model, lines), want)
