"""FLOPs, against formulas that anybody can check by hand."""

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import flop_registry

from course_utils.chapters.trading_compute_for_memory import counted_flops


def test_products_and_attention_count_two_flops_a_pair_and_torchs_own_table_is_left_as_it_was():
    before = dict(flop_registry)
    a, b = torch.ones(3, 5), torch.ones(5, 7)
    assert counted_flops(lambda: a @ b) == 2 * 3 * 5 * 7
    q, k, v = (torch.ones(2, 4, 16, 8, requires_grad=True) for _ in range(3))
    product = 2 * (2 * 4) * 16 * 16 * 8
    assert counted_flops(lambda: F.scaled_dot_product_attention(q, k, v)) == 2 * product
    both = counted_flops(lambda: F.scaled_dot_product_attention(q, k, v).sum().backward())
    assert both == 7 * product
    assert flop_registry == before
