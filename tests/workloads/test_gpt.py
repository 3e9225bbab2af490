"""The running example: its size, its causality, and its attention; BERT's and ResNet's sizes."""

import pytest
import torch

from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.resnet import ResNet18
from course_utils.workloads.training_steps import Bert, BertConfig


@pytest.mark.parametrize(
    "make, count",
    [
        (lambda: GPT(GPTConfig.small()), 124_439_808),
        (lambda: Bert(BertConfig.large()), 335_143_938),
        (ResNet18, 11_689_512),
    ],
)
def test_a_model_has_the_published_number_of_parameters(make, count):
    with torch.device("meta"):
        assert sum(p.numel() for p in make().parameters()) == count


def test_a_position_sees_only_itself_and_those_before():
    model = GPT(GPTConfig.tiny())
    tokens = torch.randint(0, 10, (1, 9))
    changed = tokens.clone()
    changed[0, 5] = (tokens[0, 5] + 1) % 10
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5:], after[:, 5:])


def test_attention_is_that_of_torchs_own_module():
    torch.manual_seed(0)
    config = GPTConfig.tiny()
    ours = GPT(config).blocks[0].attention
    theirs = torch.nn.MultiheadAttention(config.width, config.heads, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.to_qkv.weight)
        theirs.in_proj_bias.copy_(ours.to_qkv.bias)
        theirs.out_proj.load_state_dict(ours.to_out.state_dict())
    x = torch.randn(2, 9, config.width)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(9)
    torch.testing.assert_close(ours(x), theirs(x, x, x, attn_mask=mask, is_causal=True)[0])
