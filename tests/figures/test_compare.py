"""Bars and lines: each kind of evidence in its colour, and what doesn't exist takes no place."""

import io
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from course_utils.core.evidence import Series
from course_utils.core.measurement import Measurement
from course_utils.figures.compare import compare_bars, compare_lines
from course_utils.figures.style import COLOURS, FORMAT_COLOURS, INK, format_colour
from course_utils.figures.tables import table
from course_utils.figures.timeline import Span, Spans, draw
from tests.support.evidence import PUBLISHED, RECORDED

pytestmark = pytest.mark.without_torch


@pytest.fixture(autouse=True)
def machine(fake_machine):
    fake_machine()


def shows(picture, colour):
    """Whether the picture has a colour, or one that differs by the rounding of its palette."""
    image = Image.open(io.BytesIO(picture.png)).convert("RGB")
    wanted = tuple(bytes.fromhex(colour[1:]))
    return any(
        max(abs(a - b) for a, b in zip(found, wanted, strict=True)) < 12
        for _, found in image.getcolors(1 << 24)
    )


def longest_run(picture, colour):
    """The most pixels of a colour beside each other: the length of its longest bar."""
    image = np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGB")).astype(int)
    alike = (abs(image - tuple(bytes.fromhex(colour[1:]))) < 12).all(axis=2)
    rows = ("".join("01"[pixel] for pixel in row) for row in alike.astype(int))
    return max(len(run) for row in rows for run in row.split("0"))


def test_bars_of_one_unit_compare_by_their_lengths_in_all_panels():
    published = Series({"run": 2.0}, "published", "somebody")
    both = compare_bars("Shares", {"run": 0.5}, published, unit="share of the time")
    ratio = longest_run(both, COLOURS["live"]) / longest_run(both, COLOURS["published"])
    assert ratio == pytest.approx(0.25, abs=0.02)


def test_a_bar_shows_between_which_times_half_of_its_runs_were():
    column = {
        "way": "recorded",
        "seconds": 2.0,
        "seconds_q1": 1.0,
        "seconds_q3": 4.0,
        "seconds_n": 9,
    }
    live = {"live": Measurement((0.5, 1.0, 2.0, 4.0, 8.0), 5, 0.0, "host")}
    recorded = Series.of_rows([column], "recorded", "GPU")
    for evidence, bar in ((live, "live"), (recorded, "recorded")):
        picture = compare_bars("Spread", evidence)
        # From 1 to 4 s, beside a bar from 0 to 2 s; the first of them lies on the bar.
        ratio = longest_run(picture, INK) / longest_run(picture, COLOURS[bar])
        assert ratio == pytest.approx(1.5, abs=0.1)
    with_no_spread = compare_bars("None", {"live": 2.0})
    assert longest_run(with_no_spread, INK) < longest_run(with_no_spread, COLOURS["live"]) / 4


def test_each_kind_of_evidence_has_its_colour_and_what_does_not_exist_takes_no_place():
    every = compare_bars("All three", {"run": 1.0}, RECORDED, PUBLISHED)
    assert all(shows(every, colour) for colour in COLOURS.values())
    assert len(every.png) < 40_000  # a notebook has many
    live = compare_bars("Live alone", {"run": 1.0}, None, {})
    assert shows(live, COLOURS["live"]) and not shows(live, COLOURS["recorded"])
    with pytest.raises(ValueError, match="No evidence at all for 'Nothing'"):
        compare_bars("Nothing", None, {})


def test_lines_are_drawn_on_log_axes_with_a_prediction_and_a_missing_recording():
    model = Series.predicted({1: 1e-6, 1000: 2e-3})
    lines = [("live", {1: 1e-6, 1000: 1e-3}), ("model", model), ("none", None), ("empty", {})]
    picture = compare_lines("$5_{ and $6", lines, x_label="n", y_label="seconds", log="xy")
    assert shows(picture, COLOURS["live"])
    assert "live: 1 → ≈ 1 µs; 1000 → ≈ 1 ms" in picture.drawn and "none" not in picture.drawn


def test_a_table_shows_live_with_a_mark_recorded_without_and_where_it_is_from():
    live = [{"what": "run", "seconds": Measurement((0.002,), 1, None, "host"), "note": None}]
    html = table("A <table>", live, RECORDED).data
    assert "≈ 2 ms" in html and "2 s" in html and "recorded: H200" in html
    assert "A &lt;table&gt;" in html and "–" in html
    assert "<table>" in table("nothing yet", []).data


def test_a_table_shows_published_rows_that_no_figure_has_a_value_of():
    rows = [{"model": "7B", "perplexity": 5.68}]
    html = table("Perplexity", [], Series({}, "published", "published: a paper", rows=rows)).data
    assert "perplexity" in html and "5.68" in html and "neither measured" not in html


def test_spans_add_themselves_from_any_thread_and_after_an_error():
    spans = Spans()
    with pytest.raises(ZeroDivisionError), spans.span("broken", row="a"):
        _ = 1 / 0
    spans.timed(lambda: None, "fine", row="b")()
    assert [(s.row, s.label) for s in spans] == [("a", "broken"), ("b", "fine")]
    assert all(s.seconds >= 0 for s in spans)
    with pytest.raises(ValueError, match="no spans"):
        draw([], "Nothing")


def test_the_readers_own_matplotlib_settings_are_left_alone():
    before = dict(mpl.rcParams)
    compare_bars("One", {"run": 1.0})
    draw([Span("a", "b", 0, 1)], "Two")
    assert dict(mpl.rcParams) == before


def test_a_line_looks_as_it_is_told_to_and_its_label_too():
    label, look = "FP16, live", {"FP16, live": {"color": format_colour("FP16, live")}}
    picture = compare_lines("t", [(label, {1: 2.0, 2: 3.0})], x_label="x", y_label="y", look=look)
    assert shows(picture, FORMAT_COLOURS["FP16"]) and not shows(picture, COLOURS["live"])
    assert format_colour("FP8 E4M3 into FP32") == FORMAT_COLOURS["E4M3"]
    assert format_colour("float64") is None


def test_a_line_that_ends_at_zero_on_a_logarithmic_axis_is_drawn_without_a_warning():
    lines = [("falls", {1: 7.2, 8: 2.0, 64: 0.0}), ("stays", {1: 30, 8: 14, 64: 6})]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare_lines("a share", lines, x_label="scale", y_label="%", log="xy")
