"""The planner's formula beside the program itself, run on a fake GPU."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch.nn import functional as F

from course_utils.memory.prediction import cublas_workspace, predict_bytes
from course_utils.planner.bytes_held import moments, peak
from course_utils.planner.plans import OPTIMIZERS, Plan
from course_utils.planner.shapes import Shape, shape, shapes
from course_utils.workloads.gpt import GPT, GPTConfig
from tests.support.llama import Llama
from tests.support.planned_steps import build_of

WORKSPACES = 2 * cublas_workspace((9, 0))
MODELS = {
    "wide": GPTConfig(vocabulary=50257, context=256, layers=4, heads=4, width=256),
    "deep": GPTConfig(vocabulary=64, context=64, layers=6, heads=4, width=256),
    "broad": GPTConfig(vocabulary=32000, context=64, layers=6, heads=16, width=1024),
    "heavy": GPTConfig(vocabulary=512, context=64, layers=3, heads=12, width=768),
}
MODELS |= {
    f"Llama, {vocabulary}": Shape(
        "a small Llama", layers=4, width=512, heads=8, hidden=1792, vocabulary=vocabulary,
        context=512, kv_heads=2, gated=True, norm="rms", tied=False, positions=False, biases=False,
    )
    for vocabulary in (32_000, 512)
}  # fmt: skip
MODELS["Llama, Hugging Face"] = replace(MODELS["Llama, 512"], norm="rms in Python")
QUICK = [
    ("wide", 6, "FP32", {"checkpointing": "none"}),
    ("wide", 6, "AMP BF16", {"checkpointing": "sqrt", "optimizer": "SGD", "chunked_loss": True}),
    ("heavy", 2, "AMP BF16", {"checkpointing": "none", "optimizer": "SGD", "chunked_loss": True}),
    ("deep", 64, "AMP BF16", {"checkpointing": "every block"}),
    ("deep", 64, "FP32", {"checkpointing": "selective"}),
    ("broad", 32, "AMP BF16", {"checkpointing": "every block", "optimizer": "SGD"}),
    ("wide", 4, "AMP BF16",
     {"in_backward": True, "checkpointing": "every block", "chunked_loss": True}),
    ("Llama, 32000", 2, "pure BF16", {"checkpointing": "selective", "optimizer": "SGD"}),
    ("Llama, 512", 16, "AMP BF16", {"checkpointing": "every block", "optimizer": "SGD"}),
    ("Llama, Hugging Face", 16, "pure BF16", {"optimizer": "Adam, fused"}),
    ("Llama, Hugging Face", 16, "AMP BF16", {"optimizer": "SGD"}),
    ("heavy", 2, "FP32", {"checkpointing": "every block", "optimizer": "Adam, fused"}),
]  # fmt: skip


TRADES = [
    {"checkpointing": "none"},
    {"checkpointing": "sqrt", "optimizer": "SGD", "chunked_loss": True},
    {"checkpointing": "every block", "optimizer": "SGD"},
    {"checkpointing": "selective"},
    {"in_backward": True},
    {"in_backward": True, "checkpointing": "every block", "chunked_loss": True},
]


def require_close(model, batch, recipe, trades):
    """The workspaces left out, which flatter the formula."""
    config, gpt = MODELS[model], not model.startswith("Llama")
    plan = Plan(Shape.of_gpt(config) if gpt else config, batch, recipe=recipe, **trades)
    exact = predict_bytes(build_of(config, plan, GPT if gpt else Llama), steps=2)
    measured = exact.peak_allocated - exact.workspace
    assert peak(plan).total - WORKSPACES == pytest.approx(measured, rel=0.02 if gpt else 0.025)
    return plan


@pytest.mark.parametrize("model, batch, recipe, trades", QUICK)
def test_the_formula_is_within_2_percent_of_the_program(model, batch, recipe, trades):
    plan = require_close(model, batch, recipe, trades)
    if model == "broad":  # autocast's casts of all weights are there at the forward pass's end
        assert "forward" in peak(plan).name


@pytest.mark.skipif(not hasattr(F, "linear_cross_entropy"), reason="since torch 2.13")
@pytest.mark.parametrize(
    "model, batch, recipe",
    [("broad", 32, "AMP BF16"), ("wide", 6, "AMP BF16"), ("Llama, 32000", 6, "pure BF16")],
)
def test_a_fused_loss_takes_no_more_than_the_formula(model, batch, recipe):
    config, gpt = MODELS[model], not model.startswith("Llama")
    trades = {"checkpointing": "every block", "optimizer": "SGD", "fused_loss": True}
    plan = Plan(Shape.of_gpt(config) if gpt else config, batch, recipe=recipe, **trades)
    exact = predict_bytes(build_of(config, plan, GPT if gpt else Llama), steps=2)
    measured = exact.peak_allocated - exact.workspace
    elsewhere = [m.total for m in moments(plan) if not m.name.endswith(("logits", "the loss"))]
    assert 0.98 * (max(elsewhere) - WORKSPACES) < measured < 1.02 * (peak(plan).total - WORKSPACES)


@pytest.mark.thorough(
    "course_utils/chapters/trading_compute_for_memory", "course_utils/memory/prediction.py"
)
@pytest.mark.parametrize("trades", TRADES)
@pytest.mark.parametrize("recipe", ["FP32", "AMP BF16"])
@pytest.mark.parametrize("model, batch", [("wide", 4), ("deep", 64), ("heavy", 2)])
def test_so_it_is_for_all_trades_of_several_models(model, batch, recipe, trades):
    require_close(model, batch, recipe, trades)


PARAMETERS = {
    "GPT-2 small": 124_439_808,
    "GPT-2 xl": 1_557_611_200,
    "Llama 3.2 1B": 1_235_814_400,
    "Llama 2 7B": 6_738_415_616,
    "Llama 3 8B": 8_030_261_248,
    "BERT-Large": 335_143_938,
}


def test_a_shape_has_the_parameters_that_its_maker_counts():
    assert {title: shape(title).parameters for title in PARAMETERS} == PARAMETERS


def test_every_optimizer_and_shape_can_be_planned_at_once():
    for model, optimizer in product(shapes().values(), OPTIMIZERS):
        plan = Plan(model, optimizer=optimizer)
        assert peak(plan) in moments(plan) and peak(plan).total > 0


def test_states_are_those_that_torch_makes():
    model = GPT(MODELS["deep"])
    optimizer = torch.optim.Adafactor(model.parameters())
    model(torch.zeros(1, 4, dtype=torch.int64)).sum().backward()
    optimizer.step()
    states = [t for state in optimizer.state.values() for t in state.values()]
    real = sum(t.nbytes for t in states if t.numel() > 1)
    plan = Plan(Shape.of_gpt(MODELS["deep"]), recipe="FP32", optimizer="Adafactor")
    assert peak(plan).parts["optimizer states"] == pytest.approx(real, rel=1e-3)


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"recipe": "FP16"}, "no 'FP16'; there are FP32"),
        ({"checkpointing": "some"}, "no 'some'; there are none"),
        ({"optimizer": "Lion"}, "no 'Lion'; there are SGD"),
        ({"batch": 0}, "at least 1"),
        ({"ranks": 8}, "belong together"),
        ({"in_backward": True, "accumulates": True}, "no gradients to accumulate"),
        ({"compiled_loss": True, "recipe": "FP32"}, "16-bit logits"),
        ({"chunked_loss": True, "fused_loss": True}, "has its chunks already"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(wrong, says):
    with pytest.raises(ValueError, match=says):
        Plan(shape("GPT-2 small"), **wrong)
    with pytest.raises(ValueError, match="no model 'GPT-5'; there are GPT-2 small"):
        shape("GPT-5")
