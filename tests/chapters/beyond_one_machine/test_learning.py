"""The tens digit of a sum."""

import torch

from course_utils.chapters.beyond_one_machine.learning import tens_digits
from course_utils.workloads.addition import Addition, decode


def test_the_class_is_the_sums_tens_digit_and_the_inputs_are_both_numbers_digits():
    lines = Addition().held_out[:300]
    x, y = tens_digits(lines)
    texts = [decode(line) for line in lines]
    assert y.tolist() == [(int(t[:2]) + int(t[3:5])) // 10 % 10 for t in texts]
    digits = x.view(-1, 4, 10)
    assert torch.equal(digits.sum(2), torch.ones(300, 4))
    want = [[int(t[at]) for at in (0, 1, 3, 4)] for t in texts]
    assert digits.argmax(2).tolist() == want
