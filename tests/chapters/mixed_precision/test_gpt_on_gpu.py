"""The predicted bytes of a GPT's step: by hand where its parts are known, and no scaler."""

import pytest

from course_utils.chapters.mixed_precision import predicted_step
from course_utils.memory.prediction import CannotPredict
from course_utils.workloads import GPTConfig, parameters, recipes, step_bytes

SMALL = GPTConfig(vocabulary=1024, context=32, layers=1, heads=2, width=128)


@pytest.mark.parametrize("name, each", [("FP32", 4), ("AMP BF16", 4), ("pure BF16", 2)])
def test_weights_and_states_have_the_recipes_dtype(name, each):
    found = predicted_step(SMALL, recipes.recipe(name), 4).parts
    assert found["parameter"] == parameters(SMALL) * each
    assert found["optimizer state"] == 2 * parameters(SMALL) * each
    assert (found["half copy"] > 0) == (name == "AMP BF16")
    if name == "AMP BF16":  # the logits' FP32 copy is gone before the peak
        kept = step_bytes(recipes.recipe(name), SMALL, 4)["activation"]
        assert found["activation"] == pytest.approx(kept, rel=1e-3)


def test_a_scaler_reads_from_the_device_so_nothing_is_predicted():
    with pytest.raises(CannotPredict):
        predicted_step(SMALL, recipes.recipe("AMP FP16"), 4)
