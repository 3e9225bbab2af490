"""A GPU that is none: what its kernels keep, and a torch that can't have one."""

import os

import pytest
import torch
from torch.nn import functional as F
from torch.utils import backend_registration

from course_utils.memory import counting, fake_gpu
from course_utils.memory.prediction import predict_bytes
from tests.support.steps import failing


@pytest.mark.parametrize(
    "dtype, kept", [(torch.float32, 4 * 2 * 4 * 128), (torch.bfloat16, 4 * 2 * 4 * 100)]
)
def test_fused_attention_keeps_a_logarithm_for_each_row_and_no_scores(dtype, kept):
    with fake_gpu.fake_gpu(), counting.count() as counted:
        q = torch.randn(2, 4, 100, 16, dtype=dtype, requires_grad=True)
        F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    made = [s.n_bytes for s in counted.storages if "attention" in s.op]
    assert kept in made and max(made) == q.element_size() * q.numel()


def test_a_torch_without_the_private_parts_gives_one_clear_error(monkeypatch):
    monkeypatch.setattr(fake_gpu, "_register", fake_gpu._register.__wrapped__)
    monkeypatch.delattr(backend_registration, "_setup_privateuseone_for_python_backend")
    assert not fake_gpu.is_available()
    with pytest.raises(fake_gpu.FakeGpuError, match="mend course_utils/memory/fake_gpu"):
        predict_bytes(failing(print), 1)


def gathering(**more):
    x = torch.ones(50, 300, requires_grad=True)
    index = torch.zeros(50, 7, dtype=torch.int64)
    (x * 2).gather(1, index, **more).square().sum().backward()


def test_what_gather_returns_is_kept_and_its_backward_adds_into_its_zeros_as_on_the_cpu():
    with torch.profiler.profile() as profile:
        gathering()
    real = {event.name for event in profile.events()}
    assert "aten::scatter_add_" in real and "aten::scatter_add" not in real
    with fake_gpu.fake_gpu(), counting.count() as counted:
        gathering()
    sizes = [s.n_bytes for s in counted.storages]
    assert sizes.count(4 * 50 * 300) == 4  # x, its double, and the gradient of each
    assert 4 * 50 * 7 in [s.n_bytes for s in counted.storages if s.kind == "activation"]
    with fake_gpu.fake_gpu(), pytest.raises(fake_gpu.FakeGpuError, match="leave out sparse_grad"):
        gathering(sparse_grad=True)


def test_a_truncated_normal_is_drawn_without_looking_at_it():
    def build(device):
        model = torch.nn.Linear(8, 8)
        torch.nn.init.trunc_normal_(model.weight, std=0.02)
        sgd = torch.optim.SGD(model.parameters())
        return model, sgd, lambda: model(torch.ones(1, 8)).sum().backward()

    assert predict_bytes(build, 1).peak_allocated > 0
    assert torch.nn.init.trunc_normal_(torch.empty(9)).abs().max() > 0


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inference_is_no_backward_pass(mode):
    def build(device):
        model = torch.nn.Linear(8, 8)
        sgd = torch.optim.SGD(model.parameters())
        return model, sgd, mode()(lambda: model(torch.ones(1, 8)))

    found = predict_bytes(build, 1)
    assert {moment.phase for moment in found.moments} == {"before", "forward"}
    assert not any(moment.n_bytes["activation"] for moment in found.moments)


def test_beside_a_real_gpu_the_fake_one_is_in_another_process(monkeypatch):
    assert fake_gpu.apart(os.getpid) == os.getpid()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    asked = "one"
    assert fake_gpu.apart(lambda: (os.getpid(), asked))[0] != os.getpid()
    with pytest.raises(ValueError, match="one"):
        fake_gpu.apart(lambda: int(asked))
