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
