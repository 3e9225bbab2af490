"""The widget of a step's bytes follows its controls."""

from course_utils.chapters.mixed_precision.step_bytes_widget import step_bytes_explorer


def test_the_widget_crosses_where_the_batch_has_tokens_enough():
    explorer = step_bytes_explorer(batch=1, width=256)
    batch, width, picture, reading = explorer.children
    before = picture.value
    assert "AMP holds more" in reading.value
    batch.value = 32
    assert "AMP holds less" in reading.value and picture.value != before
    width.value = 2048
    assert "AMP holds less" in reading.value and "1755 tokens" in reading.value
    batch.value = 16
    assert "AMP holds more" in reading.value
