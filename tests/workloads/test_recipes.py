"""Precision recipes: their errors, and their optimiser beside others'.

That all of them learn is what chapter 7's page claims.
"""

import pytest
import torch
from torch import nn

from course_utils.memory import counting
from course_utils.workloads import recipes


def test_what_is_no_recipe_and_no_dtype_for_autocast_is_refused():
    with pytest.raises(ValueError, match=r"'BF16'; there are 'FP32', 'AMP BF16'"):
        recipes.recipe("BF16")
    for dtype in (torch.float64, torch.float32, torch.int8):
        with pytest.raises(ValueError, match="torch would warn"):
            recipes.autocast("cpu", dtype)
    with recipes.autocast("cpu", None):  # off
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype is torch.float32


def test_kahans_adam_follows_float64_where_plain_bf16_stands_still():
    torch.manual_seed(0)
    start, slopes = 1 + torch.rand(32).bfloat16(), torch.randn(300, 32) + 1
    found = []
    for make, dtype in (
        (torch.optim.Adam, torch.float64),
        (torch.optim.Adam, torch.bfloat16),
        (recipes.KahanAdam, torch.bfloat16),
    ):
        weight = nn.Parameter(start.to(dtype, copy=True))
        optimizer = make([weight], lr=1e-4, betas=(0.9, 0.98), eps=1e-6)
        for slope in slopes:
            weight.grad = slope.to(dtype)
            optimizer.step()
        found.append(weight.detach().double())
    exact, plain, kahan = found
    assert torch.equal(plain, start.double()) and (plain - exact).abs().max() > 0.015
    assert (kahan - exact).abs().max() < 2**-7  # one step of BF16 above 1


def test_kahans_adam_keeps_ten_bytes_a_parameter_and_refuses_weight_decay():
    weight = nn.Parameter(torch.ones(1000, dtype=torch.bfloat16))
    weight.grad = torch.ones_like(weight)
    optimizer = recipes.KahanAdam([weight], fused=False)
    optimizer.step()
    kept = sum(s.nbytes for s in optimizer.state[weight].values() if s.numel() > 1)
    assert kept + weight.nbytes + weight.grad.nbytes == 10 * 1000
    for option in ({"weight_decay": 0.1}, {"amsgrad": True}, {"fused": True}):
        with pytest.raises(ValueError, match=f"has no {next(iter(option)).replace('_', ' ')}"):
            recipes.KahanAdam([weight], **option)


def weights_with_gradients(shapes):
    torch.manual_seed(0)
    weights = [nn.Parameter(torch.rand(shape).bfloat16() + 1) for shape in shapes]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    return weights


def test_a_step_of_kahans_adam_takes_one_chunk_of_temporary_memory(monkeypatch):
    monkeypatch.setattr(recipes, "CHUNK", 1000)
    weights = weights_with_gradients([(40, 90), (30,), (7, 100), (5000,)])
    optimizer = recipes.KahanAdam(weights)
    optimizer.step()
    with counting.count(nn.ParameterList(weights), optimizer) as counted:
        optimizer.step()
    assert 0 < counted.kept("temporary") <= 2 * 1000


def test_kahans_adam_takes_the_same_steps_in_chunks_and_at_once_and_counts_each_weights(
    monkeypatch,
):
    found = []
    for chunk in (64, 10**6):
        monkeypatch.setattr(recipes, "CHUNK", chunk)
        weights = weights_with_gradients([(40, 9), (30,), (9, 40)])
        weights[2].data = weights[2].data.t()  # its numbers don't lie in order
        weights[2].grad = torch.randn_like(weights[2])
        optimizer = recipes.KahanAdam(weights, lr=1e-2)
        for _ in range(5):
            optimizer.step()
        found.append(weights)
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))
    weights[1].grad = None
    optimizer.step()
    assert [optimizer.state[w]["step"].item() for w in weights] == [6, 5, 6]


def test_recipes_without_the_units_are_left_out(a_gpu_of):
    assert list(recipes.recipes_of(a_gpu_of((7, 5)))) == ["FP32", "AMP FP16"]
    assert recipes.recipes_of(a_gpu_of((8, 0))) == recipes.RECIPES == recipes.recipes_of("cpu")


def test_the_speed_of_a_step_that_ended_in_no_number_is_refused():
    recipes.refuse_nan(torch.tensor(65504.0, dtype=torch.float16))
    for loss in (float("nan"), float("inf")):
        with pytest.raises(FloatingPointError, match="its speed means nothing"):
            recipes.refuse_nan(torch.tensor(loss))
