"""Widgets without a browser: the picture and the words follow the controls. In one: conditions/."""

import base64
import io

import pytest
from PIL import Image

from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import Picture, is_of

pytestmark = pytest.mark.without_torch


def said(size, name):
    words = f"{name} of {size}"
    return Picture(png(words), f"all of it: {size}", f"  {words}"), words


def png(words):
    """A picture that differs with the words."""
    file = io.BytesIO()
    Image.frombytes("L", (len(words), 1), words.encode()).save(file, format="png")
    return file.getvalue()


def test_picture_and_words_follow_the_controls_and_are_stored_for_a_page_without_a_kernel():
    names = slider("name", ["cube", "ball"], "ball")
    controls = Controls(said, "A thing", size=slider("size", range(2, 6), 3), name=names)
    size, name, picture, reading = controls.children
    assert [size.description, name.description] == ["size", "name"]
    assert (picture.value, reading.value) == (png("ball of 3"), "ball of 3")
    size.value, name.value = 99, "cube"  # a slider ends where its range does
    assert (picture.value, reading.value) == (png("cube of 5"), "cube of 5")
    bundle = controls._repr_mimebundle_()
    assert bundle["text/plain"] == "[widget] A thing\nall of it: 5\n  cube of 5"
    assert is_of(base64.b64decode(bundle["image/png"]), bundle["text/plain"])
