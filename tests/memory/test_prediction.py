"""A step's memory predicted on a fake GPU: beside live counts, real traces, CUDA's own rules."""

from contextlib import nullcontext
from unittest import mock

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.core import files
from course_utils.memory import counting, fake_gpu, what_if
from course_utils.memory.on_gpu import measured_on_gpu
from course_utils.memory.prediction import CannotPredict, cublas_workspace, predict_bytes
from course_utils.memory.recorded import recorded_trace
from course_utils.memory.snapshots.snapshot import load
from course_utils.workloads.adam_2_0 import TwoListAdam
from course_utils.workloads.training_steps import TrainingStep, all_steps
from tests.support.cs336_transformer import MEDIUM, XL, training
from tests.support.steps import build_of, failing

SNAPSHOTS = files.ROOT.parent / "shared" / "snapshots"


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


@pytest.mark.parametrize("plain_attention", [True, False])
@pytest.mark.parametrize(
    "name, batch, more",
    [
        ("MLP", 1, {}),
        ("MLP", 500, {"accumulate": 3}),
        ("MLP", 7, {"optimizer": TwoListAdam}),
        ("GPT", 1, {}),
        ("GPT", 8, {}),
        ("GPT", 8, {"checkpointing": True}),
        ("GPT", 2, {"accumulate": 4}),
        ("BERT", 1, {}),
        ("BERT", 6, {}),
        ("ResNet-18", 1, {}),
        ("ResNet-18", 9, {}),
    ],
)
def test_the_peak_is_that_counted_live_within_1_percent(name, batch, more, plain_attention):
    if name != "GPT" and not plain_attention:
        pytest.skip("has no fused attention")
    build = build_of(name, batch, **more)
    with sdpa_kernel(SDPBackend.MATH) if plain_attention else nullcontext():
        live = counted_live(build)
        found = predict_bytes(build, 2)
    # Adam counts its steps on the host: 4 bytes a parameter that only the live count sees
    counters = sum(4 for _ in build(torch.device("cpu"))[0].parameters())
    most = max(found.moments, key=lambda moment: moment.total).total
    assert most == pytest.approx(live.peak.total, abs=counters, rel=0.01 - 1e-9)


@pytest.mark.parametrize(
    "trace, more",
    [
        ("medium_ctx128_train", {"config": MEDIUM}),
        ("forward_mixed", {"config": XL, "forward_only": True, "autocast": torch.bfloat16}),
    ],
)
def test_the_peak_is_that_of_a_real_gpus_trace_within_half_a_percent(trace, more):
    path = SNAPSHOTS / f"transformer_{trace}.pickle"
    if not path.exists():
        pytest.skip("no real snapshots beside this project")
    real = what_if.run(what_if.program_of(recorded_trace(load(path)))).peak_allocated
    steps = 2 if "forward_only" in more else 1
    found = predict_bytes(training(**more), steps, capability=(8, 0))
    assert found.peak_allocated == pytest.approx(real, rel=0.005)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
@pytest.mark.parametrize("step", all_steps(), ids=str)
def test_on_a_gpu_allocated_and_reserved_are_within_2_percent(step):
    measured = measured_on_gpu(step.build)
    found = predict_bytes(step.build, capability=torch.cuda.get_device_capability())
    assert found.peak_allocated == pytest.approx(measured["allocated"], rel=0.02)
    assert found.peak_reserved == pytest.approx(measured["reserved"], rel=0.02)


def test_an_optimizer_counts_its_steps_on_the_host_whatever_the_default_device():
    n_bytes = 4 * (64 * 99 + 99 + 99 * 9 + 9)
    for kind in (torch.optim.Adam, torch.optim.NAdam, torch.optim.RAdam):
        last = predict_bytes(build_of("MLP", 1, optimizer=kind), 2).moments[-1]
        assert last.n_bytes["optimizer state"] == 2 * n_bytes  # and no count of steps


def test_a_step_that_fails_leaves_the_default_device_as_it_was():
    class Fails(torch.optim.SGD):
        def step(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        predict_bytes(build_of("MLP", 1, optimizer=Fails), 1)
    assert torch.ones(1).device.type == "cpu"
    with fake_gpu.fake_gpu() as device:
        assert torch.ones(1).device.type == device.type
        with pytest.raises(ZeroDivisionError):
            Fails([torch.ones(1, requires_grad=True)]).step()
    assert torch.ones(1).device.type == "cpu"


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
    assert n_bytes["optimizer state"] == 8 * 1_001_000
    assert n_bytes["temporary"] == 4 * 1_001_000


def test_dropout_keeps_a_mask_of_one_byte():
    def build(device):
        model = nn.Sequential(nn.Dropout(), nn.Linear(100, 100))
        return model, torch.optim.SGD(model.parameters()), lambda: model(torch.ones(64, 100))

    masks = [s.size for s in predict_bytes(build, 1).program.steps if s.size == 64 * 100]
    assert len(masks) == 1


def test_each_thread_that_multiplies_has_a_workspace_by_the_gpus_generation():
    assert cublas_workspace((9, 0)) == 33_554_432 and cublas_workspace((8, 6)) == 8_519_680
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


def test_a_model_may_be_moved_and_converted_on_the_device_it_is_given():
    def build(device):
        model = nn.Linear(64, 64, device=device).to(device).to(torch.bfloat16)
        sgd = torch.optim.SGD(model.parameters())
        x = torch.tensor([[1.0] * 64]).to(device, torch.bfloat16)
        return model, sgd, lambda: (model(x).sum().backward(), sgd.step())

    found = predict_bytes(build, 1)
    assert found.moment.n_bytes["parameter"] == 2 * (64 * 64 + 64)


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
    assert torch.ones(1).item() == 1
    for wrong in ({"model": "VGG"}, {"model": "MLP", "precision": "FP8"}):
        with pytest.raises(ValueError, match="there are"):
            TrainingStep(**wrong)
