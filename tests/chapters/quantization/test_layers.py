"""What the page takes from its room: a layer's inputs, torchao or a sentence."""

import sys

import pytest
import torch
from torch import nn

from course_utils.chapters import quantization as chapter
from course_utils.workloads import GPT, Addition, GPTConfig


def test_the_inputs_are_those_with_which_each_layer_gives_its_outputs():
    torch.manual_seed(0)
    model, lines = GPT(GPTConfig.tiny()), Addition().train[:5]
    inputs = chapter.inputs_of(model, lines)
    assert list(inputs) == list(chapter.named_linears(model))
    block = model.blocks[1]
    hidden = nn.functional.gelu(block.up(inputs["blocks.1.up"]))
    torch.testing.assert_close(inputs["blocks.1.down"], hidden)
    assert inputs["blocks.1.down"].shape == (5 * 8, 256)
    assert not any(layer._forward_pre_hooks for layer in model.modules())


def test_a_model_that_fails_keeps_no_hooks():
    model = GPT(GPTConfig.tiny())
    with pytest.raises(IndexError):
        chapter.inputs_of(model, torch.full((1, 9), 99))
    assert not any(layer._forward_pre_hooks for layer in model.modules())


def test_without_torchao_a_sentence_says_what_is_left_out(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torchao.prototype.mx_formats", None)
    assert chapter.torchao() is None
    assert "this page compares nothing with it" in capsys.readouterr().out


def test_torchaos_published_table_has_each_row_under_legible_names():
    rows = chapter.llama_inference().rows
    assert len(rows) == 5 and rows[0]["perplexity"] == 7.3315
    assert rows[1]["H100, prefill: times BF16"] == 1.464


def test_nf4_has_sixteen_values_from_minus_one_to_one_and_zero_as_bitsandbytes_prints_them():
    values = chapter.nf4()
    assert len(values) == 16 and values[0] == -1 and values[7] == 0 and values[-1] == 1
    assert values[8:11].tolist() == pytest.approx([0.0795803, 0.1609302, 0.2461123], abs=1e-6)
