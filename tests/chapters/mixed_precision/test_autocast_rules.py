"""Autocast's dtypes by the dispatcher's rules: right where they can be measured, and tidy."""

import pytest
import torch

from course_utils.chapters.mixed_precision.autocast_rules import (
    MIXED,
    OPERATORS,
    PAIR,
    dtype_by_rules,
    inputs_of,
    mixed_table,
)


@pytest.mark.parametrize("name", OPERATORS)
def test_on_the_cpu_the_rules_give_what_running_it_gives(name):
    for dtype in (torch.float32, torch.bfloat16):
        op, inputs = OPERATORS[name][0], inputs_of(name, dtype)
        with torch.amp.autocast("cpu", torch.bfloat16):
            measured = op(*inputs).dtype
        assert dtype_by_rules(op, *inputs, device_type="cpu") == measured


def test_of_two_dtypes_too_and_each_device_widens_what_the_other_refuses():
    rows = mixed_table()
    for row in rows:
        name = row["operator"]
        if name == "index_put":  # its fake checks no dtypes
            continue
        if row["CPU"] == "error":
            with pytest.raises(RuntimeError, match="fake cpu tensor"):
                dtype_by_rules(MIXED[name], *PAIR, device_type="cpu")
        else:
            found = dtype_by_rules(MIXED[name], *PAIR, device_type="cpu")
            assert str(found) == f"torch.{row['CPU']}"
    table = {row["operator"]: (row["CPU"], row["CUDA"]) for row in rows}
    assert table["index_copy"] == ("float32", "error")
    assert table["index_put"] == ("error", "float32")


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
