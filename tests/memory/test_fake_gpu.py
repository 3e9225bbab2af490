"""A GPU that is none: what its kernels keep, and a torch that can't have one."""

import pytest
import torch
from torch.nn import functional as F

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
    from torch.utils import backend_registration

    monkeypatch.setattr(fake_gpu, "_register", fake_gpu._register.__wrapped__)
    monkeypatch.delattr(backend_registration, "_setup_privateuseone_for_python_backend")
    assert not fake_gpu.is_available()
    with pytest.raises(fake_gpu.FakeGpuError, match="mend course_utils/memory/fake_gpu"):
        predict_bytes(failing(print), 1)
