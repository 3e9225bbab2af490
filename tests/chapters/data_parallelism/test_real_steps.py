"""Steps of real size, in either half format."""

import pytest
import torch

from course_utils.chapters.data_parallelism.real_steps import (
    HALVES,
    gpt_step,
    half_format,
    resnet_step,
)
from course_utils.chapters.data_parallelism.trials import resnet18_for_28
from course_utils.workloads.gpt import GPT, GPTConfig


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_step_of_real_size_trains_in_either_half_format(dtype):
    torch.manual_seed(0)
    model = GPT(GPTConfig.tiny())
    before = next(iter(model.state_dict().values())).clone()
    gpt_step(model, GPTConfig.tiny(), 2, "cpu", dtype)()
    after = next(iter(model.state_dict().values()))
    assert after.isfinite().all() and not torch.equal(before, after)


@pytest.mark.parametrize("capability, name", [((7, 5), "FP16"), ((8, 0), "BF16"), ((9, 0), "BF16")])
def test_a_gpu_older_than_ampere_trains_in_fp16(capability, name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert HALVES[half_format()] == name


def test_a_step_of_a_resnet_changes_its_weights():
    model = resnet18_for_28()
    before = model[0].weight.detach().clone()
    resnet_step(model, 2, "cpu")()
    assert not torch.equal(before, model[0].weight)
