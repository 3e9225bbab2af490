"""The peaks that chapter 9 shows by model: predicted, kept, measured."""

import pytest
import torch

from course_utils.chapters.memory_snapshots.peak_by_model import (
    IDENTIFIES,
    build_of,
    in_gib,
    predict_row,
    predicted,
    provenance,
    read,
    to_measure,
    wrong_by,
)
from course_utils.workloads.training_steps import TrainingStep, all_steps


def test_steps_that_would_not_fit_are_left_out_with_a_sentence(capsys):
    every, few = to_measure(every=True), to_measure(every=False)
    assert len(every) == len(all_steps()) == 3 * len(few)
    assert {row["model"] for row in few} == {row["model"] for row in every}
    small = to_measure(every=True, fits=lambda n_bytes: n_bytes < 2**30)
    assert max(row["predicted_reserved_bytes"] for row in small) < 2**30
    assert (
        capsys.readouterr().out == f"{48 - len(small)} of 48 steps don't fit this GPU: left out.\n"
    )


def test_peaks_are_shown_in_gib_and_their_errors_in_order():
    row = to_measure(every=False)[0]
    measured = row | {"allocated_bytes": row["predicted_allocated_bytes"] // 2}
    (before, after) = in_gib([row, measured])
    assert before["allocated, measured"] == "–" != after["allocated, measured"]
    assert wrong_by([measured, measured], "allocated") == [1, 1]
    assert wrong_by([measured], "allocated", but=row["model"]) == []


def test_a_row_identifies_the_step_that_is_measured():
    row = to_measure(every=False)[0]
    step = build_of(row).__self__
    assert all(getattr(step, name) == row[name] for name in IDENTIFIES)


def test_the_kept_predictions_are_what_is_predicted_now():
    if read()["torch"] != torch.__version__.partition("+")[0]:
        pytest.skip(f"they were {provenance()}")
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
