"""Measuring on a GPU: in a fresh process, and never without one."""

import os

import pytest
import torch

from course_utils.memory.on_gpu import (
    context_on_gpu,
    fits_here,
    in_a_fresh_process,
    measured_on_gpu,
    reserved_on_gpu,
)
from course_utils.workloads.training_steps import TrainingStep


@pytest.mark.thorough("course_utils/memory/on_gpu.py")
def test_each_measurement_has_a_process_of_its_own_which_gives_back_errors():
    number = in_a_fresh_process(os.getpid)
    assert number not in (os.getpid(), in_a_fresh_process(os.getpid))
    with pytest.raises(ValueError, match="invalid literal"):
        in_a_fresh_process(int, "one")


def test_without_a_gpu_or_under_another_allocators_settings_measuring_says_so(monkeypatch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="no CUDA GPU here"):
        measured_on_gpu(TrainingStep("MLP").build)
    with pytest.raises(RuntimeError, match="no CUDA GPU here"):
        reserved_on_gpu(print)
    assert context_on_gpu({"nothing": print}) == [] and not fits_here(0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:1")
    with pytest.raises(RuntimeError, match="start again without"):
        measured_on_gpu(TrainingStep("MLP").build)
