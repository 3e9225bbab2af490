"""What the course says of a machine: why torch doesn't see a GPU that is there."""

import pytest


@pytest.mark.parametrize(
    "visible, cuda, says",
    [
        ("", "13.0", "CUDA_VISIBLE_DEVICES is ''"),
        (None, None, "built without CUDA"),
        (None, "13.0", "newer than the driver"),
    ],
)
def test_a_gpu_that_torch_does_not_see_is_explained(monkeypatch, visible, cuda, says):
    from course_utils.core import machine

    monkeypatch.setattr(machine, "query_gpus", lambda fields: ["NVIDIA H200"])
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert says in machine._hidden_gpus(cuda, None)
