"""What real GPUs gave others, beside the course's predictions."""

import pytest

from course_utils.chapters.memory_snapshots.on_real_gpus import real_runs
from tools.predict_real_runs import predicted_run


@pytest.mark.thorough("course_utils/memory", "data/predicted", "tools/predict_real_runs.py")
def test_the_kept_prediction_of_a_real_run_is_what_is_predicted_now():
    training, forward = real_runs()
    now = predicted_run("training, FP32")
    assert now["run"] == training["run"]
    assert now["allocated_bytes"] == training["allocated_bytes"]
    assert training["workspaces"] == forward["workspaces"] == 2
    assert -0.5 < training["off_percent"] < 0 < forward["off_percent"] < 0.5
