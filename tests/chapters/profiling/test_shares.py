"""What a time consists of, drawn: shares of a whole, whatever the unit."""

import pytest

from course_utils.chapters.profiling import draw_shares


def test_each_bar_is_a_whole_in_one_order_for_all():
    said = repr(
        draw_shares("Two runs", {"a": {"computing": 3, "launching": 1}, "b": {"computing": 5}})
    )
    assert "a: computing 75 + idle: launches 25" in said
    assert "b: computing 100" in said


def test_small_parts_stand_together_and_others_keep_their_names():
    parts = {"convolution": 0.9, "pooling": 0.098, "dust": 0.002}
    said = repr(draw_shares("One run", {"a": parts}))
    assert "convolution 90" in said and "pooling 9.8" in said and "dust" not in said


@pytest.mark.parametrize("runs", [{}, {"a": {}}, {"a": {"computing": 0.0}}])
def test_nothing_to_draw_is_refused(runs):
    with pytest.raises(ValueError, match="no run to draw"):
        draw_shares("Nothing", runs)
