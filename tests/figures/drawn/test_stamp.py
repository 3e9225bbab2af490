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


def test_a_stamp_leaves_the_picture_as_it_is_and_is_of_its_picture_and_its_text_alone():
    red = png("red")
    stamped = stamp(red, "a text ≈ 3")
    assert Image.open(io.BytesIO(stamped)).tobytes() == Image.open(io.BytesIO(red)).tobytes()
    assert is_of(stamped, "a text ≈ 3") and not is_of(stamped, "a text ≈ 4")
    assert not is_of(red, "a text ≈ 3")
    moved = stamped.replace(red[-30:], png("blue")[-30:])
    assert moved != stamped and not is_of(moved, "a text ≈ 3")
    assert stamp(stamped, "two") == stamp(red, "two")
    with pytest.raises(ValueError, match="not a PNG"):
        stamp(b"GIF89a", "a text")
