"""The kept predictions: what is predicted now, and what they say of a published mystery."""

import pytest
import torch

from course_utils.memory.kept_predictions import predict_row, predicted, read
from course_utils.workloads.training_steps import TrainingStep


def test_the_kept_predictions_are_what_is_predicted_now():
    if read()["torch"] != torch.__version__.partition("+")[0]:
        pytest.skip(f"they were predicted with torch {read()['torch']}")
    for step in (TrainingStep("MLP", 1024, "AMP", 4), TrainingStep("ResNet-18", 32)):
        where = {name: getattr(step, name) for name in ("model", "batch", "precision")}
        kept = predicted(**where, accumulate=step.accumulate, checkpointing=False)
        assert kept == [predict_row(step, (9, 0))]


def test_with_the_adam_of_its_day_berts_peak_moves_into_the_optimizer_at_batch_1():
    def kept(batch, optimizer):
        (row,) = predicted(batch=batch, optimizer=optimizer, capability=[8, 6])
        return row

    assert kept(4, "Adam of torch 2.0")["phase"] == "backward"
    small = kept(1, "Adam of torch 2.0")
    assert small["phase"] == "step"
    lists = 4 * 335_143_938
    parts = small["parts_bytes"]
    assert parts["temporary"] == pytest.approx(2 * lists, rel=1e-3)
    assert parts["parameter"] + parts["gradient"] + parts["optimizer state"] == 4 * lists
    assert kept(1, "Adam")["peak_allocated_bytes"] < small["peak_allocated_bytes"] - lists / 2
