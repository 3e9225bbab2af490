"""The planner's formula beside the program itself, run on a fake GPU."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from course_utils.chapters.trading_compute_for_memory.model_shapes import Shape, shape, shapes
from course_utils.chapters.trading_compute_for_memory.planner import moments, peak
from course_utils.chapters.trading_compute_for_memory.plans import OPTIMIZERS, Plan
from course_utils.memory.prediction import cublas_workspace, predict_bytes
from course_utils.workloads.gpt import GPT, GPTConfig
from tests.support.llama import Llama
from tests.support.planned_steps import build_of

WORKSPACES = 2 * cublas_workspace((9, 0))
WIDE = GPTConfig(vocabulary=50257, context=256, layers=4, heads=4, width=256)
DEEP = GPTConfig(vocabulary=64, context=64, layers=6, heads=4, width=256)
BROAD = GPTConfig(vocabulary=32000, context=64, layers=6, heads=16, width=1024)
HEAVY = GPTConfig(vocabulary=512, context=64, layers=3, heads=12, width=768)
WAYS = ("none", "sqrt", "every block")
LLAMA = Shape(
    "a small Llama", layers=4, width=512, heads=8, hidden=1792, vocabulary=512, context=512,
    kv_heads=2, gated=True, norm="rms", tied=False, positions=False, biases=False,
)  # fmt: skip


def off_by(plan, config, make=GPT):
    """By which share the formula is off, the workspaces left out, which flatter it."""
    exact = predict_bytes(build_of(config, plan, make), steps=2)
    return (peak(plan).total - WORKSPACES) / (exact.peak_allocated - exact.workspace) - 1


@pytest.mark.parametrize("recipe", ["FP32", "AMP BF16"])
@pytest.mark.parametrize("checkpointing", WAYS)
@pytest.mark.parametrize("config, batch", [(WIDE, 6), (DEEP, 64), (HEAVY, 2)])
def test_the_formula_is_within_2_percent_of_the_program(config, batch, checkpointing, recipe):
    for optimizer, chunked in (("Adam", False), ("SGD", True)):
        plan = Plan(
            Shape.of_gpt(config),
            batch,
            recipe=recipe,
            checkpointing=checkpointing,
            optimizer=optimizer,
            chunked_loss=chunked,
        )
        assert off_by(plan, config) == pytest.approx(0, abs=0.02), (optimizer, chunked)


@pytest.mark.parametrize("recipe", ["FP32", "AMP BF16"])
@pytest.mark.parametrize(
    "trades",
    [
        {"checkpointing": "selective"},
        {"in_backward": True},
        {"in_backward": True, "checkpointing": "every block", "chunked_loss": True},
    ],
)
def test_the_other_trades_are_within_2_percent_too(trades, recipe):
    for config, batch in ((WIDE, 4), (DEEP, 64)):
        plan = Plan(Shape.of_gpt(config), batch, recipe=recipe, **trades)
        assert off_by(plan, config) == pytest.approx(0, abs=0.02)


def test_autocasts_casts_of_all_weights_can_make_the_forward_pass_the_peak():
    plan = Plan(Shape.of_gpt(BROAD), 32, checkpointing="every block", optimizer="SGD")
    assert "forward" in peak(plan).name
    assert off_by(plan, BROAD) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("vocabulary, batch", [(32_000, 2), (512, 16)])
@pytest.mark.parametrize("recipe", ["pure BF16", "AMP BF16"])
@pytest.mark.parametrize("checkpointing", ["none", "selective", "every block"])
def test_a_llama_is_predicted_as_well(vocabulary, batch, recipe, checkpointing):
    model = replace(LLAMA, vocabulary=vocabulary)
    plan = Plan(model, batch, recipe=recipe, checkpointing=checkpointing, optimizer="SGD")
    assert off_by(plan, model, Llama) == pytest.approx(0, abs=0.025)


@pytest.mark.parametrize(
    "title, parameters",
    [
        ("GPT-2 small", 124_439_808),
        ("GPT-2 xl", 1_557_611_200),
        ("Llama 3.2 1B", 1_235_814_400),
        ("Llama 2 7B", 6_738_415_616),
        ("Llama 3 8B", 8_030_261_248),
        ("BERT-Large", 335_143_938),
    ],
)
def test_a_shape_has_the_parameters_that_its_maker_counts(title, parameters):
    assert shape(title).parameters == parameters


def test_every_optimizer_and_shape_can_be_planned_at_once():
    for model, optimizer in product(shapes().values(), OPTIMIZERS):
        plan = Plan(model, optimizer=optimizer)
        assert peak(plan) in moments(plan) and peak(plan).total > 0


def adafactor(model):
    return [torch.optim.Adafactor(model.parameters())]


def muon(model):
    """Blocks' matrices by Muon, the rest by Adam, as its author advises."""
    matrices = [p for p in model.blocks.parameters() if p.dim() == 2]
    rest = [p for p in model.parameters() if all(p is not other for other in matrices)]
    return [torch.optim.Muon(matrices), torch.optim.Adam(rest)]


@pytest.mark.parametrize("name, make", [("Adafactor", adafactor), ("Muon", muon)])
def test_states_are_those_that_torch_makes(name, make):
    model = GPT(DEEP)
    optimizers = make(model)
    model(torch.zeros(1, 4, dtype=torch.int64)).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    states = [t for o in optimizers for state in o.state.values() for t in state.values()]
    real = sum(t.nbytes for t in states if t.numel() > 1)
    plan = Plan(Shape.of_gpt(DEEP), recipe="FP32", optimizer=name)
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
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(wrong, says):
    with pytest.raises(ValueError, match=says):
        Plan(shape("GPT-2 small"), **wrong)


def test_an_unknown_model_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="no model 'GPT-5'; there are GPT-2 small"):
        shape("GPT-5")
