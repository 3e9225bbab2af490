"""What the chapter's trials train on: images where they are, and else of the same shape."""

import struct

import torch

from course_utils.chapters.data_parallelism.trials import fashion, resnet18_for_28


def test_images_are_fashion_mnists_where_its_files_are_and_else_of_the_same_shape(tmp_path):
    pixels, kinds = fashion(30, tmp_path / "none", tmp_path / "none")
    assert pixels.shape == (30, 1, 28, 28) and pixels.min() >= 0 and pixels.max() <= 1
    assert kinds.dtype == torch.int64 and set(kinds.tolist()) <= set(range(10))
    images, labels = tmp_path / "images", tmp_path / "labels"
    images.write_bytes(struct.pack(">4I", 2051, 2, 28, 28) + bytes([0, 255] * 784))
    labels.write_bytes(struct.pack(">2I", 2049, 2) + bytes([7, 3]))
    pixels, kinds = fashion(2, images, labels)
    assert kinds.tolist() == [7, 3] and pixels.mean() == 0.5
    assert resnet18_for_28()(pixels).shape == (2, 10)
