"""A step's memory predicted on a fake GPU: beside live counts, real traces, CUDA's own rules."""

import os
from contextlib import nullcontext
from functools import partial
from unittest import mock

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from course_utils.chapters.memory_snapshots.peak_by_model import (
    in_gib,
    predict_row,
    predicted,
    provenance,
    read,
    to_measure,
    wrong_by,
)
from course_utils.chapters.mixed_precision import autocast_rules
from course_utils.core import files
from course_utils.memory import counting, fake_autocast, fake_gpu, on_gpu, what_if
from course_utils.memory.on_gpu import (
    context_on_gpu,
    fits_here,
    in_a_fresh_process,
    measured_on_gpu,
    reserved_on_gpu,
)
from course_utils.memory.prediction import CannotPredict, cublas_workspace, predict
from course_utils.memory.recorded import recorded_trace
from course_utils.memory.snapshots.snapshot import load
from course_utils.workloads.adam_2_0 import TwoListAdam
from course_utils.workloads.bert import Bert, BertConfig
from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.resnet import ResNet18
from course_utils.workloads.training_steps import TrainingStep, all_steps
from tests.support.cs336_transformer import MEDIUM, XL, training

SNAPSHOTS = files.ROOT.parent / "shared" / "snapshots"
SMALL_GPT = GPTConfig(50, 64, 3, 4, 64)
SMALL_BERT = BertConfig(100, 64, 3, 4, 64, 256)


def tokens_of(batch):
    return (torch.randint(50, (batch, 64)),), torch.randint(50, (batch * 64,))


def sentences_of(batch):
    tokens = torch.randint(100, (batch, 64))
    return (tokens, torch.ones_like(tokens)), torch.randint(2, (batch,))


def vectors_of(batch):
    return (torch.randn(batch, 64),), torch.randint(9, (batch,))


def images_of(batch):
    return (torch.randn(batch, 3, 64, 64),), torch.randint(9, (batch,))


MODELS = {
    "MLP": (lambda: nn.Sequential(nn.Linear(64, 99), nn.ReLU(), nn.Linear(99, 9)), vectors_of),
    "GPT": (lambda: GPT(SMALL_GPT), tokens_of),
    "BERT": (lambda: Bert(SMALL_BERT), sentences_of),
    "ResNet-18": (lambda: ResNet18(9), images_of),
}


def build_of(name, batch, accumulate=1, checkpointing=False, optimizer=torch.optim.Adam):
    def build(device):
        make, example = MODELS[name]
        model, batches = make(), [example(batch) for _ in range(accumulate)]
        for block in model.blocks if checkpointing else ():
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)
        adam = optimizer(model.parameters(), **({} if optimizer is TwoListAdam else OF_CUDA))

        def step():
            adam.zero_grad()
            for inputs, targets in batches:
                F.cross_entropy(model(*inputs).flatten(0, -2), targets).backward()
            adam.step()

        return model, adam, step

    return build


OF_CUDA = {"foreach": True}


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
        found = predict(build, 2)
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
    found = predict(training(**more), steps, capability=(8, 0))
    assert found.peak_allocated == pytest.approx(real, rel=0.005)


def test_bert_large_has_the_published_number_of_parameters_and_resnet18_torchvisions():
    with torch.device("meta"):
        assert sum(p.numel() for p in Bert(BertConfig.large()).parameters()) == 335_143_938
        assert sum(p.numel() for p in ResNet18().parameters()) == 11_689_512


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
@pytest.mark.parametrize("step", all_steps(), ids=str)
def test_on_a_gpu_allocated_and_reserved_are_within_2_percent(step):
    measured = measured_on_gpu(step.build)
    found = predict(step.build, capability=torch.cuda.get_device_capability())
    assert found.peak_allocated == pytest.approx(measured["allocated"], rel=0.02)
    assert found.peak_reserved == pytest.approx(measured["reserved"], rel=0.02)


def test_an_optimizer_counts_its_steps_on_the_host_whatever_the_default_device():
    n_bytes = 4 * (64 * 99 + 99 + 99 * 9 + 9)
    for kind in (torch.optim.Adam, torch.optim.NAdam, torch.optim.RAdam):
        last = predict(build_of("MLP", 1, optimizer=kind), 2).moments[-1]
        assert last.n_bytes["optimizer state"] == 2 * n_bytes  # and no count of steps


def test_a_step_that_fails_leaves_the_default_device_as_it_was():
    class Fails(torch.optim.SGD):
        def step(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        predict(build_of("MLP", 1, optimizer=Fails), 1)
    assert torch.ones(1).device.type == "cpu"
    with fake_gpu.fake_gpu() as device:
        assert torch.ones(1).device.type == device.type
        with pytest.raises(ZeroDivisionError):
            Fails([torch.ones(1, requires_grad=True)]).step()
    assert torch.ones(1).device.type == "cpu"


def test_a_fresh_process_has_torch_and_no_gpu_and_gives_back_errors():
    number = in_a_fresh_process(os.getpid)
    assert number not in (os.getpid(), in_a_fresh_process(os.getpid))
    assert not in_a_fresh_process(torch.cuda.is_initialized)
    with pytest.raises(ValueError, match="invalid literal"):
        in_a_fresh_process(int, "one")


def test_allocator_settings_reach_a_new_process_by_their_new_name_and_go_afterwards(monkeypatch):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        on_gpu,
        "in_a_fresh_process",
        lambda *_, forked: [forked, *map(os.environ.get, on_gpu.SETTINGS)],
    )
    assert reserved_on_gpu(print, "expandable_segments:True") == [
        *(False, "expandable_segments:True", None)
    ]
    assert reserved_on_gpu(print) == [False, None, None]
    assert os.environ["PYTORCH_CUDA_ALLOC_CONF"] == "max_split_size_mb:1"
    with pytest.raises(RuntimeError, match="start again without"):
        measured_on_gpu(TrainingStep("MLP").build)


def test_steps_that_would_not_fit_are_left_out_with_a_sentence(capsys):
    every, few = to_measure(every=True), to_measure(every=False)
    assert len(every) == len(all_steps()) == 3 * len(few)
    assert {row["model"] for row in few} == {row["model"] for row in every}
    small = to_measure(every=True, fits=lambda n_bytes: n_bytes < 2**30)
    assert max(row["predicted_reserved_bytes"] for row in small) < 2**30
    assert (
        capsys.readouterr().out == f"{48 - len(small)} of 48 steps don't fit this GPU: left out.\n"
    )


def test_peaks_are_shown_in_gib_and_their_errors_in_order():
    row = to_measure(every=False)[0]
    measured = row | {"allocated_bytes": row["predicted_allocated_bytes"] // 2}
    (before, after) = in_gib([row, measured])
    assert before["allocated, measured"] == "–" != after["allocated, measured"]
    assert wrong_by([measured, measured], "allocated") == [1, 1]
    assert wrong_by([measured], "allocated", but=row["model"]) == []


def test_without_a_gpu_measuring_says_so():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    for ask in (
        partial(measured_on_gpu, TrainingStep("MLP").build),
        partial(reserved_on_gpu, print),
    ):
        with pytest.raises(RuntimeError, match="no CUDA GPU here"):
            ask()
    assert context_on_gpu({"nothing": print}) == [] and not fits_here(0)


def test_the_parts_add_up_to_the_peak_and_the_optimizer_is_multi_tensor():
    found = predict(build_of("MLP", 1, optimizer=torch.optim.SGD), 1)
    assert sum(found.parts.values()) == found.peak_allocated
    assert found.peak_reserved >= found.peak_allocated and found.parts["rounding"] >= 0

    def build(device):  # foreach is left to torch, as on CUDA
        model = nn.Linear(1000, 1000)
        adam = torch.optim.Adam(model.parameters())
        return model, adam, lambda: (model(torch.ones(1, 1000)).sum().backward(), adam.step())

    found = predict(build, 1)
    assert found.moment.phase == "step" and "_foreach_sqrt" in found.moment.op
    # parameters, gradients, two states, and one temporary, each of 1,001,000 numbers
    n_bytes = found.moment.n_bytes
    assert n_bytes["parameter"] == n_bytes["gradient"] == 4 * 1_001_000
    assert n_bytes["optimizer state"] == 8 * 1_001_000
    assert n_bytes["temporary"] == 4 * 1_001_000


def test_the_adam_of_torch_2_0_holds_one_list_more_and_updates_as_todays():
    one, two = (
        predict(build_of("MLP", 1, optimizer=kind), 2).moment.n_bytes["temporary"]
        for kind in (torch.optim.Adam, TwoListAdam)
    )
    assert two - one == 4 * (64 * 99 + 99 + 99 * 9 + 9)
    torch.manual_seed(0)
    models = [nn.Linear(5, 3), nn.Linear(5, 3)]
    models[1].load_state_dict(models[0].state_dict())
    adams = (
        torch.optim.AdamW(models[0].parameters(), 0.1),
        TwoListAdam(models[1].parameters(), 0.1, weight_decay=0.01),
    )
    for _ in range(4):
        for model, adam in zip(models, adams, strict=True):
            adam.zero_grad()
            model(torch.ones(2, 5)).square().sum().backward()
            adam.step()
    torch.testing.assert_close(models[0].weight, models[1].weight)


def test_dropout_keeps_a_mask_of_one_byte():
    def build(device):
        model = nn.Sequential(nn.Dropout(), nn.Linear(100, 100))
        return model, torch.optim.SGD(model.parameters()), lambda: model(torch.ones(64, 100))

    masks = [s.size for s in predict(build, 1).program.steps if s.size == 64 * 100]
    assert len(masks) == 1


@pytest.mark.parametrize(
    "dtype, kept", [(torch.float32, 4 * 2 * 4 * 128), (torch.bfloat16, 4 * 2 * 4 * 100)]
)
def test_fused_attention_keeps_a_logarithm_for_each_row_and_no_scores(dtype, kept):
    with fake_gpu.fake_gpu(), counting.count() as counted:
        q = torch.randn(2, 4, 100, 16, dtype=dtype, requires_grad=True)
        F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    made = [s.n_bytes for s in counted.storages if "attention" in s.op]
    assert kept in made and max(made) == q.element_size() * q.numel()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name", autocast_rules.OPERATORS)
def test_autocast_gives_the_dtypes_of_cudas_own_rules(name, dtype):
    op = autocast_rules.OPERATORS[name][0]
    with fake_gpu.fake_gpu() as device, torch.autocast(device.type, torch.bfloat16):
        try:
            found = op(*autocast_rules.inputs_of(name, dtype, device)).dtype
        except RuntimeError as error:
            found = "error" if "unsafe to autocast" in str(error) else error
    assert found == autocast_rules.dtype_by_rules(op, *autocast_rules.inputs_of(name, dtype))


def test_every_operator_in_autocasts_lists_is_one_that_cuda_has_a_rule_for():
    rooms = fake_autocast
    named = rooms.LOWER | rooms.WIDEST | rooms.TO_FP32_BY_DTYPE | rooms.REFUSED
    assert named <= set(fake_autocast.operators())


def test_a_half_copy_of_a_weight_is_made_once_and_dropped_with_autocast():
    with fake_gpu.fake_gpu() as device, counting.count() as counted:
        model, x = nn.Linear(64, 64, bias=False), torch.randn(8, 64)
        counted.watch(model, inputs=x)
        for _ in range(2):
            with torch.autocast(device.type, torch.bfloat16):
                model(x) + model(x)
    assert [s.n_bytes for s in counted.storages if s.kind == "half copy"] == [2 * 64 * 64] * 2
    assert counted.moments[-1].n_bytes["half copy"] == 0


def test_each_thread_that_multiplies_has_a_workspace_by_the_gpus_generation():
    assert cublas_workspace((9, 0)) == 33_554_432 and cublas_workspace((8, 6)) == 8_519_680
    for capability in ((9, 0), (8, 6)):
        found = predict(build_of("MLP", 1), 2, capability)
        assert found.parts["workspace"] == 2 * cublas_workspace(capability)


def test_what_if_takes_a_prediction_and_settings_change_what_is_reserved():
    found = predict(build_of("GPT", 8), 2)
    assert what_if.run(found.program).peak_reserved == found.peak_reserved
    assert what_if.run(found.program, capacity=8 * 2**30).ran_out is None
    expandable = what_if.Settings.parse("expandable_segments:True")
    other = predict(build_of("GPT", 8), 2, settings=expandable)
    assert other.peak_allocated == found.peak_allocated
    assert other.peak_reserved == what_if.run(found.program, expandable).peak_reserved
    assert other.peak_reserved > found.peak_reserved  # whole pages of 20 MiB, for little


def test_a_model_may_be_moved_and_converted_on_the_device_it_is_given():
    def build(device):
        model = nn.Linear(64, 64, device=device).to(device).to(torch.bfloat16)
        sgd = torch.optim.SGD(model.parameters())
        x = torch.tensor([[1.0] * 64]).to(device, torch.bfloat16)
        return model, sgd, lambda: (model(x).sum().backward(), sgd.step())

    found = predict(build, 1)
    assert found.moment.n_bytes["parameter"] == 2 * (64 * 64 + 64)


def failing(step):
    def build(device):
        model = nn.Linear(4, 4)
        return model, torch.optim.SGD(model.parameters()), lambda: step(model(torch.ones(2, 4)))

    return build


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
        predict(failing(step), 1)


def test_bad_input_says_what_is_wanted_and_leaves_nothing_behind():
    with pytest.raises(TypeError, match=r"build returns \(model, optimizer, step\), not"):
        predict(lambda device: nn.Linear(1, 1))
    with pytest.raises(TypeError, match="an optimizer was wanted"):
        predict(lambda device: (nn.Linear(1, 1), print, print))
    with pytest.raises(CannotPredict, match="parameters are on cpu"):
        predict(lambda device: (nn.Linear(1, 1, device="cpu"), *failing(print)(device)[1:]))
    with pytest.raises(ValueError, match="at least 1 step"):
        predict(failing(print), 0)
    with pytest.raises(ZeroDivisionError):
        predict(failing(lambda y: 1 / 0))
    assert torch.ones(1).item() == 1
    for wrong in ({"model": "VGG"}, {"model": "MLP", "precision": "FP8"}):
        with pytest.raises(ValueError, match="there are"):
            TrainingStep(**wrong)


def test_a_torch_without_the_private_parts_gives_one_clear_error(monkeypatch):
    from torch.utils import backend_registration

    monkeypatch.setattr(fake_gpu, "_register", fake_gpu._register.__wrapped__)
    monkeypatch.delattr(backend_registration, "_setup_privateuseone_for_python_backend")
    assert not fake_gpu.is_available()
    with pytest.raises(fake_gpu.FakeGpuError, match="mend course_utils/memory/fake_gpu"):
        predict(failing(print), 1)


def test_the_kept_predictions_are_what_is_predicted_now():
    if read()["torch"] != torch.__version__.partition("+")[0]:
        pytest.skip(f"they were {provenance()}")
    for step in (TrainingStep("MLP", 1024, "AMP", 4), TrainingStep("ResNet-18", 32)):
        where = {name: getattr(step, name) for name in ("model", "batch", "precision")}
        kept = predicted(**where, accumulate=step.accumulate, checkpointing=False)
        assert kept == [predict_row(step, (9, 0))]
    with pytest.raises(LookupError, match="no column 'size'"):
        predicted(size=1)
    with pytest.raises(LookupError, match="nothing was predicted"):
        predicted(batch=10**6)


def test_with_the_adam_of_its_day_berts_peak_moves_into_the_optimizer_at_batch_1():
    def kept(batch, optimizer):
        (row,) = predicted(batch=batch, optimizer=optimizer, capability=[8, 6])
        return row

    assert kept(4, "Adam of torch 2.0")["phase"] == "backward"
    small = kept(1, "Adam of torch 2.0")
    assert small["phase"] == "step"
    lists = 4 * 335_143_938
    parts = small["parts_bytes"]
    assert parts["temporary"] == pytest.approx(2 * lists, rel=1e-3)
    assert parts["parameter"] + parts["gradient"] + parts["optimizer state"] == 4 * lists
    assert kept(1, "Adam")["peak_allocated_bytes"] < small["peak_allocated_bytes"] - lists / 2
