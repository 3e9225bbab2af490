"""The explorer of sums: its picture follows the slider."""

from course_utils.chapters.input_pipeline import sum_explorer


def test_the_picture_follows_the_slider():
    explorer = sum_explorer(start_seconds=1e-6, seconds_per_number=1e-9)
    slider, picture = explorer.children[:2]
    before = picture.value
    slider.value = 10**6
    assert picture.value != before
