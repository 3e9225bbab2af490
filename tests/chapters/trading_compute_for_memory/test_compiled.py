"""What the compiler keeps under a budget."""

import torch

from course_utils.chapters.trading_compute_for_memory import with_budget


def test_with_no_budget_only_the_input_is_kept_and_the_most_is_computed_again():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 16))
    x = torch.randn(8, 16, requires_grad=True)
    all_bytes, least = with_budget(module, x, 1)
    none_bytes, most = with_budget(module, x, 0)
    assert none_bytes == x.nbytes < all_bytes
    assert most - least == 2 * 8 * 16 * 64, "the first product, once more"
