"""Bars and lines: each kind of evidence in its colour, and what doesn't exist takes no place."""

import io
from unittest import mock

import pytest
from PIL import Image

from course_utils.core.evidence import Series, series
from course_utils.figures import compare
from course_utils.figures.compare import compare_bars, compare_lines
from course_utils.figures.style import COLOURS
from course_utils.figures.tables import table
from tests.support.evidence import PUBLISHED, RECORDED

pytestmark = pytest.mark.without_torch


def colours_of(picture):
    image = Image.open(io.BytesIO(picture.png)).convert("RGB")
    return {"#{:02X}{:02X}{:02X}".format(*colour) for _, colour in image.getcolors(1 << 24)}


def near(colour, found):
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return any(
        all(abs(int(f[i : i + 2], 16) - w) < 12 for i, w in zip((1, 3, 5), wanted, strict=True))
        for f in found
    )


def test_each_kind_of_evidence_has_its_colour(fake_machine):
    fake_machine()
    found = colours_of(compare_bars("All three", {"run": 1.0}, RECORDED, PUBLISHED))
    assert all(near(COLOURS[kind], found) for kind in COLOURS)


def test_evidence_that_does_not_exist_takes_no_place(fake_machine):
    fake_machine()
    found = colours_of(compare_bars("Live alone", {"run": 1.0}, None, {}))
    assert near(COLOURS["live"], found) and not near(COLOURS["recorded"], found)


def test_no_evidence_at_all_is_an_error(fake_machine):
    fake_machine()
    with pytest.raises(ValueError, match="No evidence at all for 'Nothing'"):
        compare_bars("Nothing", None, {})


def test_lines_are_drawn_on_log_axes_with_a_prediction_and_a_missing_recording(fake_machine):
    fake_machine()
    lines = [
        ("live", {1: 1e-6, 1000: 1e-3}),
        ("model", Series.predicted({1: 1e-6, 1000: 2e-3})),
        ("none", None),
    ]
    picture = compare_lines("Lines", lines, x_label="n", y_label="seconds", log="xy")
    assert near(COLOURS["live"], colours_of(picture))


def test_a_line_without_a_name_leaves_the_others_names_where_their_lines_end(fake_machine):
    fake_machine()
    with mock.patch("matplotlib.axes.Axes.annotate") as written:
        ends = {"named": 1.0, "": 1.001}
        lines = [(label, {1: 1.0, 2: end}) for label, end in ends.items()]
        compare_lines("Ends", [*lines, ("far", {1: 1.0, 2: 2.0})], x_label="n", y_label="n")
    assert [call.args[0] for call in written.call_args_list] == ["named", "far"]


def test_powers_of_two_are_ticks_where_every_value_is_one():
    def labels(values):
        lines = [("scale", Series.exact(dict(enumerate(values))))]
        how = {"x_label": "step", "y_label": "scale", "log": "y"}
        with mock.patch.object(compare, "_make_log", wraps=compare._make_log) as made:
            compare_lines("Scale", lines, **how)
        return [call.kwargs["base"] for call in made.call_args_list]

    assert labels([1024, 2048, 1024]) == [2]
    assert labels([1024, 2000, 1024]) == [10]


def test_a_title_with_dollars_and_an_empty_line_are_drawn(fake_machine):
    fake_machine()
    lines = [("a", {1: 1.0, 2: 2.0}), ("empty", {})]
    compare_lines("$5_{ and $6", lines, x_label="x", y_label="y")
    assert series(RECORDED, "what", "seconds", n=99) is None
    assert "<table>" in table("nothing yet", []).data
