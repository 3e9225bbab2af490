"""Autocast's dtypes by the dispatcher's rules: right where they can be measured, and tidy."""

import pytest
import torch

from course_utils.chapters.mixed_precision.autocast_rules import (
    OPERATORS,
    dtype_by_rules,
    inputs_of,
)


@pytest.mark.parametrize("name", OPERATORS)
def test_on_the_cpu_the_rules_give_what_running_it_gives(name):
    for dtype in (torch.float32, torch.bfloat16):
        op, inputs = OPERATORS[name][0], inputs_of(name, dtype)
        with torch.amp.autocast("cpu", torch.bfloat16):
            measured = op(*inputs).dtype
        assert dtype_by_rules(op, *inputs, device_type="cpu") == measured


def test_the_switches_are_as_before_even_after_an_error():
    def state():
        devices = ("cpu", "cuda")
        return [(torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in devices]

    def fails(x):
        raise RuntimeError("no kernel")

    before = state()
    with pytest.raises(RuntimeError, match="fake cuda tensor"):
        dtype_by_rules(fails, torch.ones(1))
    assert dtype_by_rules(torch.exp, torch.ones(1)) is torch.float32
    assert state() == before
    with pytest.raises(LookupError, match=r"no operator 'softmin'; there are linear"):
        inputs_of("softmin", torch.float32)
