"""A step's memory predicted on a fake GPU: beside live counts, real GPUs, and CUDA's own rules."""

from contextlib import nullcontext
from unittest import mock

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.core.evidence import published
from course_utils.memory import counting
from course_utils.memory.prediction import CannotPredict, cublas_workspace, predict_bytes
from course_utils.workloads.training_steps import TrainingStep, TwoListAdam
from snapshots_and_traces.replay import what_if
from tests.support import cs336
from tests.support.steps import build_of, failing


def dropout_of_cuda(x, p=0.5, training=True, inplace=False):
    return torch.native_dropout(x, p, training)[0]


def counted_live(build, steps=2):
    """The same, on the CPU with real tensors; dropout's mask is CUDA's."""
    with counting.count(device="cpu") as counted, mock.patch.object(F, "dropout", dropout_of_cuda):
        model, optimizer, step = build(torch.device("cpu"))
        counted.watch(model, optimizer)
        for _ in range(steps):
            step()
    return counted


SLOWER = pytest.mark.thorough("course_utils/memory", "course_utils/workloads")


@pytest.mark.parametrize(
    "name, batch, more",
    [
        ("MLP", 500, {"accumulate": 3}),
        ("MLP", 7, {"optimizer": TwoListAdam}),
        ("GPT", 1, {}),
        ("GPT", 8, {"checkpointing": True}),
        pytest.param("GPT plain", 8, {}, marks=SLOWER),
        pytest.param("GPT plain", 2, {"accumulate": 4}, marks=SLOWER),
        pytest.param("BERT", 6, {}, marks=SLOWER),
        pytest.param("ResNet-18", 9, {}, marks=SLOWER),
    ],
)
def test_the_peak_is_that_counted_live_within_1_percent(name, batch, more):
    name, plain, _ = name.partition(" ")
    build = build_of(name, batch, **more)
    with sdpa_kernel(SDPBackend.MATH) if plain else nullcontext():
        live = counted_live(build)
        found = predict_bytes(build, 2)
    # Adam counts its steps on the host: 4 bytes a parameter that only the live count sees
    counters = sum(4 for _ in build(torch.device("cpu"))[0].parameters())
    most = max(found.moments, key=lambda moment: moment.total).total
    assert most == pytest.approx(live.peak.total, abs=counters, rel=0.01 - 1e-9)


def test_the_parts_add_up_to_the_peak_and_the_optimizer_is_multi_tensor():
    found = predict_bytes(build_of("MLP", 1, optimizer=torch.optim.SGD), 1)
    assert sum(found.parts.values()) == found.peak_allocated
    assert found.peak_reserved >= found.peak_allocated and found.parts["rounding"] >= 0

    def build(device):  # foreach is left to torch, as on CUDA
        model = nn.Linear(1000, 1000)
        adam = torch.optim.Adam(model.parameters())
        return model, adam, lambda: (model(torch.ones(1, 1000)).sum().backward(), adam.step())

    found = predict_bytes(build, 1)
    assert found.moment.phase == "step" and "_foreach_sqrt" in found.moment.op
    # parameters, gradients, two states, and one temporary, each of 1,001,000 numbers
    n_bytes = found.moment.n_bytes
    assert n_bytes["parameter"] == n_bytes["gradient"] == 4 * 1_001_000
    assert n_bytes["optimizer state"] == 8 * 1_001_000  # and no count of steps: it is on the host
    assert n_bytes["temporary"] == 4 * 1_001_000


def test_each_thread_that_multiplies_has_a_workspace_by_the_gpus_generation():
    assert cublas_workspace((9, 0)) == cublas_workspace((12, 0)) == 33_554_432
    assert cublas_workspace((8, 6)) == 8_519_680
    for capability in ((9, 0), (8, 6)):
        found = predict_bytes(build_of("MLP", 1), 2, capability)
        assert found.parts["workspace"] == 2 * cublas_workspace(capability)


def test_what_if_takes_a_prediction_and_settings_change_what_is_reserved():
    found = predict_bytes(build_of("GPT", 8), 2)
    assert what_if.run(found.program).peak_reserved == found.peak_reserved
    assert what_if.run(found.program, capacity=8 * 2**30).ran_out is None
    expandable = what_if.Settings.parse("expandable_segments:True")
    other = predict_bytes(build_of("GPT", 8), 2, settings=expandable)
    assert other.peak_allocated == found.peak_allocated
    assert other.peak_reserved == what_if.run(found.program, expandable).peak_reserved
    assert other.peak_reserved > found.peak_reserved  # whole pages of 20 MiB, for little


@pytest.mark.parametrize(
    "step, why",
    [
        (lambda y: y.sum().item(), r"leave out \.item\(\)"),
        (lambda y: float(y.sum()), r"leave out \.item\(\)"),
        (lambda y: y.sum().cpu().detach().numpy(), r"leave out \.item\(\)"),
        (lambda y: 1 if y.sum() > 0 else 0, r"leave out \.item\(\)"),
        (lambda y: y[y > 0], "boolean indexing"),
        (lambda y: y.cuda(), "device that `build` is given"),
        (lambda y: torch.cuda.synchronize(), "device that `build` is given"),
    ],
)
def test_a_step_that_needs_a_value_or_a_real_gpu_is_refused(step, why):
    if torch.cuda.is_available() and "device" in why:
        pytest.skip("CUDA's calls work here")
    with pytest.raises(CannotPredict, match=why):
        predict_bytes(failing(step), 1)


def test_bad_input_says_what_is_wanted_and_leaves_nothing_behind():
    with pytest.raises(TypeError, match=r"build returns \(model, optimizer, step\), not"):
        predict_bytes(lambda device: nn.Linear(1, 1))
    with pytest.raises(TypeError, match="an optimizer was wanted"):
        predict_bytes(lambda device: (nn.Linear(1, 1), print, print))
    with pytest.raises(CannotPredict, match="parameters are on cpu"):
        predict_bytes(lambda device: (nn.Linear(1, 1, device="cpu"), *failing(print)(device)[1:]))
    with pytest.raises(ValueError, match="at least 1 step"):
        predict_bytes(failing(print), 0)
    with pytest.raises(ZeroDivisionError):
        predict_bytes(failing(lambda y: 1 / 0))
    assert torch.ones(1).device.type == "cpu" and torch.ones(1).item() == 1
    for wrong in ({"model": "VGG"}, {"model": "MLP", "precision": "FP8"}):
        with pytest.raises(ValueError, match="there are"):
            TrainingStep(**wrong)


@SLOWER
@pytest.mark.parametrize("real", published("transformer_peaks").rows, ids=lambda row: row["run"])
def test_the_peaks_of_real_gpus_are_predicted_to_half_a_percent(real):
    now = cs336.predicted(real["run"])
    assert now.peak_allocated == pytest.approx(real["allocated_bytes"], rel=0.005)
    assert now.parts["workspace"] == 2 * cublas_workspace(cs336.CAPABILITY)
