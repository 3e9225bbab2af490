"""Autocast's dtypes by the dispatcher's rules: right where they can be measured, and tidy."""

import pytest
import torch

from course_utils.chapters.mixed_precision.autocast_rules import (
    MIXED,
    OPERATORS,
    PAIR,
    dtype_by_rules,
    dtypes_by_rules,
    dtypes_on_gpu,
    inputs_of,
    mixed_table,
)

DTYPES = [torch.float32, torch.bfloat16]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_the_cpu_the_rules_give_what_running_it_gives(name, dtype):
    op, inputs = OPERATORS[name][0], inputs_of(name, dtype)
    with torch.amp.autocast("cpu", torch.bfloat16):
        measured = op(*inputs).dtype
    assert dtype_by_rules(op, *inputs, device_type="cpu") == measured


@pytest.mark.parametrize("name", sorted(MIXED.keys() - {"index_put"}))  # its fake checks no dtypes
def test_of_two_dtypes_too(name):
    table = {row["operator"]: row["CPU"] for row in mixed_table()}
    if table[name] == "error":
        with pytest.raises(RuntimeError, match="fake cpu tensor"):
            dtype_by_rules(MIXED[name], *PAIR, device_type="cpu")
    else:
        found = dtype_by_rules(MIXED[name], *PAIR, device_type="cpu")
        assert str(found) == f"torch.{table[name]}"


def test_each_device_widens_what_the_other_refuses():
    table = {row["operator"]: (row["CPU"], row["CUDA"]) for row in mixed_table()}
    assert table["index_copy"] == ("float32", "error")
    assert table["index_put"] == ("error", "float32")


def test_the_rules_have_a_row_for_each_operator_and_dtype():
    rows = dtypes_by_rules()
    assert len(rows) == 2 * (len(OPERATORS) - 1) + len(MIXED)
    assert {row["dtype_in"] for row in rows} == {"float32", "bfloat16", "both"}
    assert [row["dtype_out"] for row in rows if row["operator"] == "softmax"] == ["float32"] * 2


@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 0),
    reason="needs a CUDA GPU that computes in BF16",
)
def test_on_a_gpu_the_rules_hold():
    assert dtypes_on_gpu() == dtypes_by_rules()


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
