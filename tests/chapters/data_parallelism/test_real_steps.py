"""Steps of real size, in either half format, and what they train on."""

import struct

import pytest
import torch

from course_utils.chapters.data_parallelism.real_steps import (
    fashion,
    gpt_step,
    resnet18_for_28,
    resnet_step,
)
from course_utils.workloads.gpt import GPT, GPTConfig


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_step_of_real_size_trains_in_either_half_format(dtype):
    torch.manual_seed(0)
    model = GPT(GPTConfig.tiny())
    before = next(iter(model.state_dict().values())).clone()
    gpt_step(model, GPTConfig.tiny(), 2, "cpu", dtype)()
    after = next(iter(model.state_dict().values()))
    assert after.isfinite().all() and not torch.equal(before, after)


def test_images_are_fashion_mnists_where_its_files_are_and_else_of_the_same_shape(tmp_path):
    pixels, kinds = fashion(30, tmp_path / "none", tmp_path / "none")
    assert pixels.shape == (30, 1, 28, 28) and pixels.min() >= 0 and pixels.max() <= 1
    assert kinds.dtype == torch.int64 and set(kinds.tolist()) <= set(range(10))
    images, labels = tmp_path / "images", tmp_path / "labels"
    images.write_bytes(struct.pack(">4I", 2051, 2, 28, 28) + bytes([0, 255] * 784))
    labels.write_bytes(struct.pack(">2I", 2049, 2) + bytes([7, 3]))
    pixels, kinds = fashion(2, images, labels)
    assert kinds.tolist() == [7, 3] and pixels.mean() == 0.5
    model = resnet18_for_28()
    resnet_step(model, 2, "cpu")()
    assert model(pixels).shape == (2, 10) and model(pixels).isfinite().all()
