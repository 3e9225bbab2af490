"""What the course says of a machine: why torch doesn't see a GPU that is there."""

import pytest

from course_utils.core import machine


@pytest.mark.parametrize(
    "visible, cuda, says",
    [
        ("", "13.0", "CUDA_VISIBLE_DEVICES is ''"),
        (None, None, "built without CUDA"),
        (None, "13.0", "newer than the driver"),
    ],
)
def test_a_gpu_that_torch_does_not_see_is_explained(monkeypatch, visible, cuda, says):
    monkeypatch.setattr(machine, "query_gpus", lambda fields: ["NVIDIA H200"])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert says in machine._hidden_gpus(cuda, None)
