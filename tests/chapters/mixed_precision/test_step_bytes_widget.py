"""The widget of a step's bytes follows its controls, and finds where AMP begins to save."""

import pytest

from course_utils.chapters.mixed_precision.step_bytes_widget import break_even, step_bytes_explorer
from course_utils.workloads import GPTConfig, recipes, step_bytes


def test_the_widget_crosses_where_the_batch_has_tokens_enough():
    batch, width, _, vocabulary, picture, reading = step_bytes_explorer(1, 4).children
    before = picture.value
    assert "AMP holds more" in reading.value
    batch.value, width.value = 32, 2048
    assert "AMP holds less" in reading.value and "1,725 tokens" in reading.value
    assert picture.value != before
    vocabulary.value = 50304
    assert "AMP holds more" in reading.value


@pytest.mark.parametrize("layers", [1, 12])
@pytest.mark.parametrize("vocabulary", [13, 50304])
def test_one_token_less_than_break_even_saves_nothing(layers, vocabulary):
    config = GPTConfig(vocabulary, 1, layers, 4, 256)
    tokens = break_even(config)
    for count, saves in ((tokens - 1, False), (tokens, True)):
        fp32, amp = (
            sum(step_bytes(recipes.recipe(name), config, count).values())
            for name in ("FP32", "AMP BF16")
        )
        assert (amp < fp32) is saves
