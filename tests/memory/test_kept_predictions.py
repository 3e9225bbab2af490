"""The kept predictions are what is predicted now."""

import pytest
import torch

from course_utils.memory.kept_predictions import predict_row, predicted, read
from course_utils.workloads.training_steps import TrainingStep


def test_the_kept_predictions_are_what_is_predicted_now():
    if read()["torch"] != torch.__version__.partition("+")[0]:
        pytest.skip(f"they were predicted with torch {read()['torch']}")
    step = TrainingStep("MLP", 1024, "AMP", 4)
    kept = predicted(model="MLP", batch=1024, precision="AMP", accumulate=4, checkpointing=False)
    assert kept == [predict_row(step, (9, 0))]
