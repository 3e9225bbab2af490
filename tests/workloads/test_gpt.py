"""The running example: its size, its causality, and its attention."""

import torch

from course_utils.core.files import ROOT
from course_utils.workloads.gpt import GPT, GPTConfig


def test_the_model_is_under_a_hundred_lines():
    assert len((ROOT / "course_utils/workloads/gpt.py").read_text().splitlines()) < 100


def test_small_has_the_parameters_of_gpt2():
    with torch.device("meta"):
        model = GPT(GPTConfig.small())
    assert sum(p.numel() for p in model.parameters()) == 124_439_808


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
