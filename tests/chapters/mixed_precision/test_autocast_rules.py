"""Autocast's dtypes by the dispatcher's rules: right where they can be measured, and tidy."""

import pytest
import torch

from course_utils.chapters.mixed_precision.autocast_rules import (
    OPERATORS,
    dtype_by_rules,
    inputs_of,
)

DTYPES = [torch.float32, torch.bfloat16]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_the_cpu_the_rules_give_what_running_it_gives(name, dtype):
    op, inputs = OPERATORS[name][0], inputs_of(name, dtype)
    with torch.amp.autocast("cpu", torch.bfloat16):
        measured = op(*inputs).dtype
    assert dtype_by_rules(op, *inputs, device_type="cpu") == measured


@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 0),
    reason="needs a CUDA GPU that computes in BF16",
)
@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "binary_cross_entropy"])
def test_on_a_gpu_too(name):
    op = OPERATORS[name][0]
    for dtype in DTYPES:
        with torch.amp.autocast("cuda", torch.bfloat16):
            measured = op(*inputs_of(name, dtype, "cuda")).dtype
        assert dtype_by_rules(op, *inputs_of(name, dtype)) == measured


def test_the_switches_are_as_before_even_after_an_error():
    def state():
        return [
            (torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in ("cpu", "cuda")
        ]

    before = state()
    with pytest.raises(RuntimeError, match="fake cuda tensor"):
        dtype_by_rules(lambda x: _raise(), torch.ones(1))
    assert dtype_by_rules(torch.exp, torch.ones(1)) is torch.float32
    assert state() == before


def _raise():
    raise RuntimeError("no kernel")


def test_an_unknown_operator_is_named_with_those_there_are():
    with pytest.raises(LookupError, match=r"no operator 'softmin'; there are linear"):
        inputs_of("softmin", torch.float32)
