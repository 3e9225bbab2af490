"""Precision recipes: their errors, their optimiser beside others', and that they learn alike."""

import json

import pytest
import torch
from torch import nn

from course_utils import bar
from course_utils.core import files
from course_utils.memory import counting
from course_utils.workloads import recipes


def test_a_name_that_is_no_recipe_says_which_there_are():
    with pytest.raises(ValueError, match=r"'BF16'; there are 'FP32', 'AMP BF16'"):
        recipes.recipe("BF16")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int8])
def test_autocast_to_what_no_device_can_do_is_an_error_not_a_warning(dtype):
    with pytest.raises(ValueError, match="torch would warn"):
        recipes.autocast("cpu", dtype)


def test_autocast_is_off_without_a_dtype():
    with recipes.autocast("cpu", None):
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype is torch.float32


def far_from(exact, weight):
    return (weight.detach().double() - exact).abs().max().item()


def adams(lr, steps=400):
    """One weight vector near 1 under Adam in float64, BF16, BF16 + Kahan, and optimi's Kahan."""
    import optimi

    torch.manual_seed(0)
    start = 1 + torch.rand(32).bfloat16()
    slopes = torch.randn(steps, 32) + 1
    made = {
        "exact": lambda p: torch.optim.Adam(p, lr=lr, betas=(0.9, 0.98), eps=1e-6),
        "plain": lambda p: torch.optim.Adam(p, lr=lr, betas=(0.9, 0.98), eps=1e-6),
        "kahan": lambda p: recipes.KahanAdam(p, lr=lr, betas=(0.9, 0.98), eps=1e-6),
        "optimi": lambda p: optimi.Adam(p, lr=lr, betas=(0.9, 0.98), eps=1e-6, kahan_sum=True),
    }
    found = {}
    for name, make in made.items():
        weight = nn.Parameter(start.double() if name == "exact" else start.clone())
        optimizer = make([weight])
        for slope in slopes:
            weight.grad = slope.to(weight.dtype)
            optimizer.step()
        found[name] = weight.detach()
    return found


def test_kahans_adam_follows_float64_where_plain_bf16_stands_still_and_as_optimis_does():
    found = adams(lr=1e-4)
    exact = found.pop("exact")
    error = {name: far_from(exact, weight) for name, weight in found.items()}
    assert error["plain"] > 0.02  # it never moved: 400 steps of 1e-4
    assert error["kahan"] < 2**-7 and error["optimi"] < 2**-7
    assert (found["kahan"] - found["optimi"]).abs().max() <= 2**-7  # one step of BF16 above 1


def test_kahans_adam_keeps_ten_bytes_a_parameter_and_refuses_weight_decay():
    weight = nn.Parameter(torch.ones(1000, dtype=torch.bfloat16))
    weight.grad = torch.ones_like(weight)
    optimizer = recipes.KahanAdam([weight])
    optimizer.step()
    kept = sum(s.nbytes for s in optimizer.state[weight].values() if s.numel() > 1)
    assert kept + weight.nbytes + weight.grad.nbytes == 10 * 1000
    for option in ({"weight_decay": 0.1}, {"amsgrad": True}, {"fused": True}):
        with pytest.raises(ValueError, match=f"has no {next(iter(option)).replace('_', ' ')}"):
            recipes.KahanAdam([weight], **option)
    assert recipes.KahanAdam([weight], fused=False)


def weights_with_gradients(shapes):
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


def test_kahans_adam_takes_the_same_step_in_chunks_and_at_once(monkeypatch):
    found = []
    for chunk in (64, 10**6):
        monkeypatch.setattr(recipes, "CHUNK", chunk)
        torch.manual_seed(0)
        weights = weights_with_gradients([(40, 9), (30,), (9, 40)])
        weights[2].data = weights[2].data.t()  # its numbers don't lie in order
        weights[2].grad = torch.randn_like(weights[2])
        optimizer = recipes.KahanAdam(weights, lr=1e-2)
        for _ in range(5):
            optimizer.step()
        found.append(weights)
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_kahans_adam_counts_the_steps_of_each_weight():
    weights = weights_with_gradients([(3,), (3,)])
    optimizer = recipes.KahanAdam(weights)
    optimizer.step()
    weights[1].grad = None
    optimizer.step()
    assert [optimizer.state[w]["step"].item() for w in weights] == [2, 1]


@pytest.fixture(scope="module")
def train():
    """Chapter 7's training, as it stands on its page."""
    page = json.loads((files.NOTEBOOKS / "07_mixed_precision.ipynb").read_text())["cells"]
    cells = {cell["id"]: "".join(cell["source"]) for cell in page}
    names = {"device": lambda: torch.device("cpu"), "bar": bar, "recipes": recipes, "torch": torch}
    exec(cells["gradients-at"].partition("model =")[0], names)
    exec(cells["train"], names)
    return names["train"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mixed_precision_ends_within_three_percent_of_fp32(train, seed):
    fp32, mixed = (train(recipes.RECIPES[name], seed=seed)[1] for name in ("FP32", "AMP BF16"))
    assert fp32 > 0.97 and abs(mixed - fp32) < 0.03


def test_recipes_without_the_units_are_left_out(a_gpu_of):
    assert list(recipes.recipes_of(a_gpu_of((7, 5)))) == ["FP32", "AMP FP16"]
    assert recipes.recipes_of(a_gpu_of((8, 0))) == recipes.RECIPES == recipes.recipes_of("cpu")


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_the_speed_of_a_step_that_ended_in_no_number_is_refused(loss):
    recipes.refuse_nan(torch.tensor(65504.0, dtype=torch.float16))
    with pytest.raises(FloatingPointError, match="its speed means nothing"):
        recipes.refuse_nan(torch.tensor(loss))
