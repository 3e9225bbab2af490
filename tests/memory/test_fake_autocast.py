"""Autocast without a GPU: CUDA's rules, and half copies made once."""

import pytest
import torch
from torch import nn

from course_utils.chapters.mixed_precision import autocast_rules
from course_utils.memory import counting, fake_autocast, fake_gpu


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_autocast_gives_the_dtypes_of_cudas_own_rules(dtype):
    for name, (op, *_) in autocast_rules.OPERATORS.items():
        with fake_gpu.fake_gpu() as device, torch.autocast(device.type, torch.bfloat16):
            try:
                found = op(*autocast_rules.inputs_of(name, dtype, device)).dtype
            except RuntimeError as error:
                found = "error" if "unsafe to autocast" in str(error) else error
        wanted = autocast_rules.dtype_by_rules(op, *autocast_rules.inputs_of(name, dtype))
        assert found == wanted, name
    lists = (fake_autocast.LOWER, fake_autocast.WIDEST, fake_autocast.TO_FP32_BY_DTYPE)
    assert set().union(*lists, fake_autocast.REFUSED) <= set(fake_autocast.operators())


def test_a_half_copy_of_a_weight_is_made_once_and_dropped_with_autocast():
    with fake_gpu.fake_gpu() as device, counting.count() as counted:
        model, x = nn.Linear(64, 64, bias=False), torch.randn(8, 64)
        counted.watch(model, inputs=x)
        for _ in range(2):
            with torch.autocast(device.type, torch.bfloat16):
                model(x) + model(x)
    assert [s.n_bytes for s in counted.storages if s.kind == "half copy"] == [2 * 64 * 64] * 2
    assert counted.moments[-1].n_bytes["half copy"] == 0
