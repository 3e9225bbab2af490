"""What a step does beside its result is seen, and torch is as before, even after an error."""

import pytest
import torch
from torch import nn

from course_utils.chapters.mixed_precision import activation_gradients, at_precision


def test_the_gradients_are_those_of_the_layers_outputs():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    x = torch.randn(5, 3, requires_grad=True)
    hidden = model[0](x)
    out = model[2](model[1](hidden))
    wanted = torch.autograd.grad(out.square().sum(), [hidden, out])
    found = activation_gradients(model, lambda: model(x).square().sum())
    together = torch.cat([g.flatten() for g in wanted])
    torch.testing.assert_close(found.sort().values, together.sort().values)
    assert not any(layer._backward_hooks for layer in model)


def test_a_precision_holds_for_a_block_and_goes_with_it_where_the_block_fails():
    products = torch.backends.mkldnn.matmul
    before = products.fp32_precision
    with pytest.raises(ValueError, match="no memory"), at_precision(products, "bf16"):
        assert products.fp32_precision == "bf16"
        raise ValueError("no memory")
    assert products.fp32_precision == before
