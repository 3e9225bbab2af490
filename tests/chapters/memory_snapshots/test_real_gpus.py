"""What real GPUs took, here and of others, beside the course's predictions."""

import pytest

from course_utils.chapters.memory_snapshots.real_gpus import (
    IDENTIFIES,
    build_of,
    in_gib,
    real_runs,
    to_measure,
    wrong_by,
)
from tools.predict_real_runs import predicted_run


@pytest.mark.thorough("course_utils/memory", "data/predicted", "tools/predict_real_runs.py")
def test_the_kept_prediction_of_a_real_run_is_what_is_predicted_now():
    training, forward = real_runs()
    now = predicted_run("training, FP32")
    assert now["run"] == training["run"]
    assert now["allocated_bytes"] == training["allocated_bytes"]
    assert training["workspaces"] == forward["workspaces"] == 2
    assert -0.5 < training["off_percent"] < 0 < forward["off_percent"] < 0.5


def test_steps_that_would_not_fit_are_left_out_with_a_sentence(capsys):
    small = to_measure(every=True, fits=lambda n_bytes: n_bytes < 2**30)
    assert max(row["predicted_reserved_bytes"] for row in small) < 2**30
    said = f"{48 - len(small)} of 48 steps don't fit this GPU: left out.\n"
    assert capsys.readouterr().out == said


def test_peaks_are_shown_in_gib_their_errors_in_order_and_a_row_identifies_its_step():
    row = to_measure(every=False)[0]
    measured = row | {"allocated_bytes": row["predicted_allocated_bytes"] // 2}
    (before, after) = in_gib([row, measured])
    assert before["allocated, measured"] == "–" != after["allocated, measured"]
    assert wrong_by([measured, measured], "allocated") == [1, 1]
    step = build_of(row).__self__
    assert all(getattr(step, name) == row[name] for name in IDENTIFIES)
