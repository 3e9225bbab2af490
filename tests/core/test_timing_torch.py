"""`measure` on a GPU, and `device`. Beside torch's own timer: conditions/test_quiet.py."""

import pytest
import torch

from course_utils import measure
from course_utils.core import machine, timing


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
@pytest.mark.parametrize(
    "options, says",
    [
        ({"clock": "device"}, "needs work on a CUDA GPU"),
        ({"clock": "host", "flush_l2": True}, "flush_l2 needs the device's clock"),
    ],
)
def test_what_only_a_gpu_can_measure_is_refused_without_one(options, says):
    with pytest.raises(ValueError, match=says):
        measure(lambda: None, **options)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("n", [512, 4096])
def test_on_a_gpu_measure_agrees_with_do_bench(n):
    from triton.testing import do_bench

    a = torch.randn(n, n, device="cuda")
    theirs = do_bench(lambda: a @ a, return_mode="median") / 1e3
    ours = measure(lambda: a @ a, flush_l2=True).median
    assert 0.7 < ours / theirs < 1.4


def test_device_is_the_cpu_without_a_gpu_and_beyond_the_last_one():
    count = torch.cuda.device_count()
    assert machine.device(count).type == "cpu"
    assert machine.device().type == ("cuda" if count else "cpu")


def test_of_eight_gpus_only_those_in_use_are_waited_for(monkeypatch):
    waited, held = [], {0: 0, 2: 0, 5: 1024}
    monkeypatch.setattr(timing, "_cuda_in_use", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 2)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda index: held.get(index, 0))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda index=2: waited.append(index))
    timing.synchronize()
    assert waited == [2, 5]
