"""The stamp on a PNG: another picture, or another text, is found out."""

import io

import pytest
from PIL import Image

from course_utils.figures.drawn.stamp import is_of, stamp

pytestmark = pytest.mark.without_torch


def png(colour):
    file = io.BytesIO()
    Image.new("RGB", (9, 5), colour).save(file, format="png")
    return file.getvalue()


def test_a_stamped_picture_is_still_the_same_picture():
    before, after = (Image.open(io.BytesIO(p)) for p in (png("red"), stamp(png("red"), "a text")))
    assert after.tobytes() == before.tobytes() and after.size == (9, 5)


def test_a_stamp_is_of_its_picture_and_its_text_alone():
    stamped = stamp(png("red"), "a text ≈ 3")
    assert is_of(stamped, "a text ≈ 3") and not is_of(stamped, "a text ≈ 4")
    assert not is_of(png("red"), "a text ≈ 3")
    moved = stamped.replace(png("red")[-30:], png("blue")[-30:])
    assert moved != stamped and not is_of(moved, "a text ≈ 3")


def test_a_second_stamp_takes_the_place_of_the_first():
    assert stamp(stamp(png("red"), "one"), "two") == stamp(png("red"), "two")


def test_what_is_no_png_gets_no_stamp():
    with pytest.raises(ValueError, match="not a PNG"):
        stamp(b"GIF89a", "a text")
