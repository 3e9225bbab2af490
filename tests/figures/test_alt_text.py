"""The text of a figure changes with what it shows, and not with what varies from run to run."""

import io
import math

import numpy as np
import pytest
from PIL import Image

from course_utils.core.evidence import Series
from course_utils.figures import alt_text
from course_utils.figures.byte_bars import stacked_bytes
from course_utils.figures.compare import compare_bars, compare_lines
from course_utils.figures.style import is_of, stamp
from course_utils.figures.timeline import Span, draw
from tests.support.evidence import RECORDED

pytestmark = pytest.mark.without_torch
MIB = 2**20
POWERS = {2.0**k: 3.0**k for k in range(20)}
SMALL = {x: 1e-9 * y for x, y in POWERS.items()}  # as seconds over bytes are


@pytest.fixture(autouse=True)
def machine(fake_machine):
    fake_machine()


def test_a_number_has_three_digits_or_is_whole_and_a_live_one_is_settled_whatever_it_is():
    values = [1024, 0.0123456, 2e9, -0.0, 7 + 1e-13, 1234.56, math.inf, math.nan]
    assert [alt_text.number(value) for value in values] == [
        "1024", "0.0123", "2e+09", "0", "7", "1230", "inf", "nan",
    ]  # fmt: skip
    for value in (0.0, 1.5, -2e-9, 12_345.678, 3e11):
        assert alt_text.settled(f"a: {alt_text.amount(value, live=True)} ms; b") == "a: ≈; b"
        assert (
            alt_text.settled(f"{alt_text.amount(value, live=True)}\nlive as s/B")
            == "≈\nlive as s/B"
        )
    for place in ("512", "1,024", "2.05e+03", "0.5"):  # the comma after it is no part of a number
        assert alt_text.settled(f"least at ≈ {place}, most") == "least at ≈, most"
    assert alt_text.settled(f"a: {alt_text.local('L1 at 3 [KiB]')}; b") == "a: ≈; b"


def test_a_digest_changes_with_one_value_of_many_and_not_with_noise_in_the_last_bits():
    values = np.linspace(1, 2, 1000)
    found = [
        alt_text.digest(values),
        alt_text.digest(values[::-1]),
        alt_text.digest(values.reshape(2, 500)),
    ]
    for factor in (1.01, 0.8, -1, 10, 1e-9):
        other = values.copy()
        other[500] *= factor
        found.append(alt_text.digest(other))
    found += [alt_text.digest([1000, 1001]), alt_text.digest([1000, 1002])]
    found += [
        alt_text.digest(list("ab")),
        alt_text.digest(["a", "c"]),
        alt_text.digest([]),
        alt_text.digest([0]),
    ]
    assert len(set(found)) == len(found)
    rounded = np.array([0.1, 1 / 3, 1e5, 0.0, math.inf])
    assert alt_text.digest(rounded) == alt_text.digest(rounded * (1 + 1e-12) + [0, 0, 0, 1e-18, 0])


@pytest.mark.parametrize("scale", [1e-6, 1.6, 1e4])
def test_live_bars_lines_and_spans_compare_equal_whatever_was_measured(scale):
    def texts(a, b):
        curve = {1: b, 10: a, 100: b}
        lines = [("here", curve), ("there", {1: a, 10: b, 100: a}), ("10 more", POWERS)]
        model = ("model", Series.predicted(curve))
        spans = [Span("r0", "run", 5, 5 + a, "1"), Span("r1", "run", 5 + b, 6 + b)]
        return [
            compare_bars("Bars", {"a": a, "b": b}, RECORDED, line=(a / 2, "half")),
            compare_lines("Lines", [*lines, model], x_label="n", y_label="s", marks={20 * a: "L1"}),
            draw(spans, "Spans", ["r0", "r1"]),
        ]

    for one, other in zip(texts(1e-3, 2e-3), texts(scale * 3.33e-3, scale * 1e-3), strict=True):
        assert alt_text.settled(repr(one)) == alt_text.settled(repr(other))


def test_how_far_live_lines_reach_stays_out_where_the_machine_decides():
    def text(reach, **how):
        lines = [("here", {2.0**k: 1.0 for k in range(reach)}), ("sheet", Series.exact(POWERS))]
        return alt_text.settled(
            repr(compare_lines("Lines", lines, x_label="n", y_label="s", **how))
        )

    assert text(9, x_varies=True) == text(12, x_varies=True)
    assert text(9) != text(12)


@pytest.mark.parametrize("kind", [Series.exact, lambda v: Series(v, "published", "published: x")])
def test_a_published_or_exact_value_changed_by_a_fifth_changes_the_text(kind):
    def text(values):
        lines = [("a", kind(values)), ("live", {1: 1.0})]
        return alt_text.settled(compare_lines("Lines", lines, x_label="x", y_label="y").drawn)

    before, small = text(SMALL), list(SMALL)[1]
    assert all(text({**SMALL, key: 0.8 * SMALL[key]}) != before for key in (small, 2.0**19))


def test_a_curve_is_told_by_some_of_its_points_its_ends_and_where_it_turns():
    many = {float(x): 40.0 - abs(x - 20) for x in range(100)}
    text, digests = alt_text.parted(alt_text.curve("hill", many))
    assert text.startswith("  hill: 0 → 20; 16 → 36; ") and len(digests) == 7
    assert text.endswith("; 99 → -39; least -39 at 99, most 40 at 20, of 100 points")
    assert alt_text.curve("live", many, live=True).count("≈") == 7 + 4
    stairs = {float(x): 2.0 ** (x // 30) for x in range(100)}
    text = alt_text.curve("stairs", stairs, steps=True)
    assert text.startswith("  stairs: 0 → 1; 30 → 2; 60 → 4; 90 → 8; 99 → 8 #")


def test_what_is_too_much_for_a_text_is_counted_and_digested():
    spans = [Span("a", "run", k, k + 0.5) for k in range(9)]
    text = draw(spans, "Spans", exact=True).drawn
    later = draw([*spans[:-1], Span("a", "run", 8, 8.6)], "Spans", exact=True).drawn
    assert "a: run × 9; to 8.5 #" in text and text != later

    def many(last):
        values = {f"a case with a name of some {k} and more words": k + 1.0 for k in range(39)}
        return compare_bars("Many", Series({**values, "last": last}, "exact", "exact: x")).drawn

    assert len(many(60.0)) < 2100 and many(60.0) != many(59.0)
    assert "lines more #" in many(60.0)


def test_a_stamp_is_of_its_picture_and_its_text_alone_and_leaves_the_picture_as_it_is():
    def png(colour):
        file = io.BytesIO()
        Image.new("RGB", (9, 5), colour).save(file, format="png")
        return file.getvalue()

    red = stamp(png("red"), "a text ≈ 3")
    assert Image.open(io.BytesIO(red)).getpixel((1, 1)) == (255, 0, 0)
    assert is_of(red, "a text ≈ 3") and not is_of(red, "a text ≈ 4")
    assert not is_of(png("red"), "a text ≈ 3")
    assert stamp(red, "two") == stamp(png("red"), "two")


@pytest.fixture
def panels(monkeypatch):
    """Draws, and gives the axes of what was drawn in place of its picture."""
    monkeypatch.setattr("course_utils.figures.style.render", lambda figure, *_: figure.axes)
    return lambda drawer, *args, **how: drawer(*args, **how)


def places(axes):
    """Where the bars of some axes begin and end, by row."""
    return [(b.get_x(), b.get_x() + b.get_width()) for group in axes.containers for b in group]


def test_what_is_drawn_is_what_is_told(panels):
    times = {"one": 3e-3, "two": 0.0, "three": 1.5e-3}
    live, recorded = panels(compare_bars, "Bars", times, RECORDED, line=(2e-3, "half"))
    assert places(live) == [(0, pytest.approx(3)), (0, 0), (0, 1.5)]  # milliseconds
    assert [text.xy[0] for text in live.texts] == [pytest.approx(3), 0, 1.5, 2]
    words = [text.get_text().replace(" ", "") for text in live.texts]
    assert words[0] == "≈3ms" and words[2:] == ["≈1.5ms", "half"]
    assert live.get_xlabel() == "milliseconds" and live.lines[0].get_xdata()[0] == 2
    assert [text.get_text() for text in live.get_yticklabels()] == list(times)
    assert [end for _, end in places(recorded)] == [*RECORDED.values.values()]

    lines = [("here", SMALL), ("sheet", Series.exact(POWERS))]
    (axes,) = panels(compare_lines, "Lines", lines, x_label="n", y_label="s", log="y")
    drawn = [dict(zip(*line.get_data(), strict=True)) for line in axes.lines]
    assert drawn == [SMALL, POWERS] and (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    assert [text.get_text() for text in axes.texts] == ["here", "sheet"]

    cases = {"a": {"parameter": 3 * MIB, "gradient": MIB}, "b": {"gradient": 2 * MIB}}
    (axes,) = panels(stacked_bytes, "Bytes", cases)
    seen = [(begin, end) for begin, end in places(axes) if end > begin]
    assert seen == [(0, 3), (3, 4), (0, 2)]

    spans = [Span("r0", "run", 5, 7), Span("r1", "wait", 6, 9)]
    (axes,) = panels(draw, spans, "Spans")
    assert places(axes) == [(0, 2), (1, 4)]
