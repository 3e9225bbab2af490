"""FLOPs, against formulas that anybody can check by hand."""

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import flop_registry

from course_utils.chapters.trading_compute_for_memory import counted_flops


def test_a_product_counts_a_multiplication_and_an_addition_for_each_pair():
    a, b = torch.ones(3, 5), torch.ones(5, 7)
    assert counted_flops(lambda: a @ b) == 2 * 3 * 5 * 7


def test_attention_counts_two_products_forward_and_five_more_backward():
    q, k, v = (torch.ones(2, 4, 16, 8, requires_grad=True) for _ in range(3))
    product = 2 * (2 * 4) * 16 * 16 * 8
    assert counted_flops(lambda: F.scaled_dot_product_attention(q, k, v)) == 2 * product
    both = counted_flops(lambda: F.scaled_dot_product_attention(q, k, v).sum().backward())
    assert both == 7 * product


def test_torchs_own_table_is_left_as_it_was():
    before = dict(flop_registry)
    counted_flops(lambda: torch.ones(2, 2) @ torch.ones(2, 2))
    assert flop_registry == before
