"""Figures and tables: they show what they are given, and say where it is from."""

import io

import matplotlib as mpl
import pytest
from PIL import Image

from course_utils.core.evidence import Series, series
from course_utils.core.measurement import Measurement
from course_utils.figures.compare import compare_bars, compare_lines
from course_utils.figures.style import COLOURS
from course_utils.figures.tables import table
from course_utils.figures.timeline import Span, Spans, draw

pytestmark = pytest.mark.without_torch

RECORDED = Series.of_rows(
    [{"what": "run", "seconds": 2.0, "n": 1}, {"what": "copy", "seconds": 3.0, "n": 2}],
    "recorded",
    "recorded: H200, torch 2.11.0, 2026-11-20",
)
PUBLISHED = Series.of_rows([{"what": "run", "seconds": 5.0}], "published", "published: a paper")


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


def test_the_title_is_what_a_reader_without_pictures_gets(fake_machine):
    fake_machine()
    assert repr(compare_bars("Copies overlap", {"a": 1.0})) == "[figure] Copies overlap"


def test_a_figure_stays_small_enough_for_a_notebook(fake_machine):
    fake_machine()
    assert len(compare_bars("All three", {"run": 1.0}, RECORDED, PUBLISHED).png) < 40_000


def test_the_readers_own_matplotlib_settings_are_left_alone(fake_machine):
    fake_machine()
    before = dict(mpl.rcParams)
    compare_bars("One", {"run": 1.0})
    draw([Span("a", "b", 0, 1)], "Two")
    assert dict(mpl.rcParams) == before


def test_lines_are_drawn_on_log_axes_with_a_prediction_and_a_missing_recording(fake_machine):
    fake_machine()
    lines = [
        ("live", {1: 1e-6, 1000: 1e-3}),
        ("model", Series.predicted({1: 1e-6, 1000: 2e-3})),
        ("none", None),
    ]
    picture = compare_lines("Lines", lines, x_label="n", y_label="seconds", log="xy")
    assert near(COLOURS["live"], colours_of(picture))


def test_series_takes_two_columns_where_the_others_match():
    assert series(RECORDED, "what", "seconds", n=2).values == {"copy": 3.0}
    assert series(None, "what", "seconds") is None


def test_a_table_shows_live_with_a_mark_recorded_without_and_where_it_is_from():
    live = [{"what": "run", "seconds": Measurement((0.002,), 1, None, "host"), "note": None}]
    html = table("A <table>", live, RECORDED).data
    assert "≈ 2 ms" in html and "2 s" in html and "recorded: H200" in html
    assert "A &lt;table&gt;" in html and "–" in html


def test_spans_add_themselves_from_any_thread_and_after_an_error():
    spans = Spans()
    with pytest.raises(ZeroDivisionError), spans.span("broken", row="a"):
        _ = 1 / 0
    spans.timed(lambda: None, "fine", row="b")()
    assert [(s.row, s.label) for s in spans] == [("a", "broken"), ("b", "fine")]
    assert all(s.seconds >= 0 for s in spans)


def test_a_timeline_without_spans_is_an_error():
    with pytest.raises(ValueError, match="no spans"):
        draw([], "Nothing")


def test_a_title_with_dollars_and_an_empty_line_are_drawn(fake_machine):
    fake_machine()
    lines = [("a", {1: 1.0, 2: 2.0}), ("empty", {})]
    compare_lines("$5_{ and $6", lines, x_label="x", y_label="y")
    assert series(RECORDED, "what", "seconds", n=99) is None
    assert "<table>" in table("nothing yet", []).data
