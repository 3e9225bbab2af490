"""Widgets without a browser: the picture and the words follow the controls. In one: conditions/."""

import base64
import io

import pytest
from ipywidgets import Checkbox
from PIL import Image

from course_utils.figures.controls import Controls, slider
from course_utils.figures.drawn.stamp import is_of
from course_utils.figures.style import Picture

pytestmark = pytest.mark.without_torch


def said(size: int, name: str, shown: bool) -> tuple[Picture, str]:
    words = f"{name} of {size}" if shown else "nothing"
    return Picture(png(words), "", f"  {words}"), words


def png(words: str) -> bytes:
    """A picture that differs with the words."""
    file = io.BytesIO()
    Image.frombytes("L", (len(words), 1), words.encode()).save(file, format="png")
    return file.getvalue()


def controls() -> Controls:
    return Controls(
        said,
        "A thing of a size",
        size=slider("size", range(2, 6), 3),
        name=slider("name", ["cube", "ball"], "ball"),
        shown=Checkbox(True, description="shown"),
    )


def test_picture_and_words_are_drawn_at_once_and_again_at_every_change():
    size, name, shown, picture, reading = controls().children
    assert (picture.value, reading.value) == (png("ball of 3"), "ball of 3")
    size.value, name.value = 5, "cube"
    assert (picture.value, reading.value) == (png("cube of 5"), "cube of 5")
    shown.value = False
    assert (picture.value, reading.value) == (png("nothing"), "nothing")


def test_a_slider_along_a_range_ends_where_the_range_does():
    size = controls().children[0]
    size.value = 99
    assert (size.min, size.max, size.value) == (2, 5, 5)


def test_every_control_has_its_label():
    assert [one.description for one in controls().children[:3]] == ["size", "name", "shown"]


def test_a_page_without_a_kernel_shows_the_picture_and_says_what_it_draws():
    bundle = controls()._repr_mimebundle_()
    assert bundle["text/plain"] == "[widget] A thing of a size\n  ball of 3"
    assert is_of(base64.b64decode(bundle["image/png"]), bundle["text/plain"])
