"""Measuring on a GPU: in a fresh process, under settings, and never without one."""

import os
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from course_utils.memory import on_gpu
from course_utils.memory.on_gpu import (
    context_on_gpu,
    fits_here,
    in_a_fresh_process,
    measured_on_gpu,
    refusal_on_gpu,
    reserved_on_gpu,
)
from course_utils.workloads.training_steps import TrainingStep

MiB = 2**20


def test_a_fresh_process_has_torch_and_no_gpu_and_gives_back_errors():
    number = in_a_fresh_process(os.getpid)
    assert number not in (os.getpid(), in_a_fresh_process(os.getpid))
    assert not in_a_fresh_process(torch.cuda.is_initialized)
    with pytest.raises(ValueError, match="invalid literal"):
        in_a_fresh_process(int, "one")


def test_allocator_settings_reach_a_new_process_by_their_new_name_and_go_afterwards(monkeypatch):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        on_gpu,
        "in_a_fresh_process",
        lambda *_, forked: [forked, *map(os.environ.get, on_gpu.SETTINGS)],
    )
    assert reserved_on_gpu(print, "expandable_segments:True") == [
        *(False, "expandable_segments:True", None)
    ]
    assert reserved_on_gpu(print) == [False, None, None]
    assert os.environ["PYTORCH_CUDA_ALLOC_CONF"] == "max_split_size_mb:1"
    with pytest.raises(RuntimeError, match="start again without"):
        measured_on_gpu(TrainingStep("MLP").build)


def test_without_a_gpu_measuring_says_so():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    for ask in (
        partial(measured_on_gpu, TrainingStep("MLP").build),
        partial(reserved_on_gpu, print),
    ):
        with pytest.raises(RuntimeError, match="no CUDA GPU here"):
            ask()
    assert context_on_gpu({"nothing": print}) == [] and not fits_here(0)


@pytest.fixture
def shares(monkeypatch):
    """A GPU of 1,000 MiB, of which 100 are reserved; the shares that torch was given of it."""
    given = []
    for name, answer in {
        "is_available": lambda: True,
        "memory_reserved": lambda: 100 * MiB,
        "get_device_properties": lambda index: SimpleNamespace(total_memory=1000 * MiB),
        "set_per_process_memory_fraction": given.append,
    }.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    monkeypatch.setattr(on_gpu, "emptied", lambda: 0)
    return given


def test_a_refusal_is_what_torch_said_and_the_limit_goes_again(shares):
    def refuses(device):
        raise torch.OutOfMemoryError("Tried to allocate 20.00 MiB")

    assert refusal_on_gpu(refuses, 400 * MiB) == "Tried to allocate 20.00 MiB"
    assert refusal_on_gpu(lambda device: device.type, 400 * MiB) == ""
    with pytest.raises(ZeroDivisionError):
        refusal_on_gpu(lambda device: 1 / 0, 400 * MiB)
    assert shares == [0.5, 1.0] * 3
