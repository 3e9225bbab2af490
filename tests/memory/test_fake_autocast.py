"""Autocast without a GPU: CUDA's rules, and half copies made once."""

import pytest
import torch
from torch import nn

from course_utils.chapters.mixed_precision import autocast_rules
from course_utils.memory import counting, fake_autocast, fake_gpu


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


def copies_of_the_weight(device, mode):
    """How many tensors of the weight's size in 16 bits three forward passes made."""
    model, x = nn.Linear(64, 64, bias=False, device=device), torch.randn(8, 64, device=device)
    autocast = torch.autocast(torch.device(device).type, torch.bfloat16)
    with counting.count(model, inputs=x) as counted, mode(), autocast:
        for _ in range(3):
            model(x)
    return [s.n_bytes for s in counted.storages if s.born].count(2 * 64 * 64)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_copies_are_kept_where_torchs_own_autocast_keeps_them(mode):
    real = copies_of_the_weight("cpu", mode)
    with fake_gpu.fake_gpu() as device:
        assert copies_of_the_weight(str(device), mode) == real
