"""The text of a figure changes with what it draws, and not with what varies from run to run."""

import pytest

from course_utils.core.evidence import Series
from course_utils.figures import style
from course_utils.figures.compare import compare_bars, compare_lines
from course_utils.figures.drawn.figure import mark_live, mark_local
from course_utils.figures.drawn.rounded import settled
from course_utils.figures.timeline import Span, draw
from tests.support.evidence import RECORDED

pytestmark = pytest.mark.without_torch
EXACT = Series({"none": 0.0, "one": 1.0, "two": 250.0}, "exact", "exact: counted")
POWERS = {2.0**k: 3.0**k for k in range(20)}
SMALL = {x: 1e-9 * y for x, y in POWERS.items()}  # as seconds over bytes are


@pytest.fixture(autouse=True)
def machine(fake_machine):
    fake_machine()


def drawn(change=lambda axes: None, live=False):
    """The text of a figure with a curve, bars, words and an area, after a change of its axes."""
    figure, axes = style.one_panel("A figure", 3)
    axes.plot(range(20), [x**2 for x in range(20)], label="squares")
    axes.barh(range(2), [3, 4], label="some")
    axes.fill_between([0, 1, 2], [1, 2, 1])
    axes.text(3, 4, "a word")
    axes.set(xlabel="metres", ylabel="watts")
    change(axes)
    return style.render(figure, "A figure", live=live).drawn


CHANGES = {
    "an axis turned round": lambda axes: axes.invert_xaxis(),
    "a logarithmic axis": lambda axes: axes.set_yscale("symlog"),
    "another label": lambda axes: axes.set_xlabel("feet"),
    "a curve more": lambda axes: axes.plot([1, 2, 3], [1, 2, 3]),
    "a curve less": lambda axes: axes.lines[0].remove(),
    "another point": lambda axes: axes.lines[0].set_ydata([x**2 + (x == 7) for x in range(20)]),
    "another name": lambda axes: axes.lines[0].set_label("cubes"),
    "a longer bar": lambda axes: axes.patches[1].set_width(4.8),
    "bars in another order": lambda axes: (
        axes.patches[0].set_width(4),
        axes.patches[1].set_width(3),
    ),
    "another area": lambda axes: axes.fill_between([0, 1, 2], [1, 3, 1]),
    "another word": lambda axes: axes.texts[0].set_text("a lie"),
    "a word elsewhere": lambda axes: axes.texts[0].set_position((9, 9)),
    "a picture in it": lambda axes: axes.imshow([[1, 2]], aspect="auto", extent=(0, 9, 0, 9)),
    "a line across": lambda axes: axes.axvline(7),
    "an arrow": lambda axes: axes.annotate("", (1, 1), (2, 2), arrowprops={"arrowstyle": "->"}),
    "marks": lambda axes: axes.scatter([1, 2], [3, 4]),
    "a title": lambda axes: axes.set_title("here", loc="left"),
}


@pytest.fixture(scope="module")
def unchanged():
    return drawn()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_text_changes_with_what_is_drawn(change, unchanged):
    assert drawn(change) != unchanged


def test_the_same_figure_has_the_same_text(unchanged):
    assert drawn() == unchanged != drawn(live=True)


def test_a_number_beside_a_bar_that_is_not_its_length_is_told_too(monkeypatch):
    monkeypatch.setattr("course_utils.figures.compare._amount", lambda *_: "7 s")
    assert '  two: 250 "7 s"' in compare_bars("Bars", EXACT).drawn


@pytest.mark.parametrize("scale", [1e-6, 1.6, 1e4])
def test_live_bars_and_lines_compare_equal_whatever_was_measured(scale):
    def texts(a, b):
        live = {"a": a, "b": b}
        curve = {1: b, 10: a, 100: b}
        lines = [("here", curve), ("there", {1: a, 10: b, 100: a}), ("10 more", POWERS)]
        model = ("model", Series.predicted(curve))
        spans = [Span("r0", "run", 5, 5 + a, "1"), Span("r1", "run", 5 + b, 6 + b)]
        return [
            compare_bars("Bars", live, RECORDED, line=(a / 2, "half")),
            compare_lines("Lines", [*lines, model], x_label="n", y_label="s", marks={20 * a: "L1"}),
            draw(spans, "Spans", ["r0", "r1"]),
        ]

    for one, other in zip(texts(1e-3, 2e-3), texts(scale * 3.33e-3, scale * 1e-3), strict=True):
        assert settled(repr(one)) == settled(repr(other))


def test_how_far_live_lines_reach_stays_out_where_the_machine_decides():
    def text(reach, **how):
        lines = [("here", {2.0**k: 1.0 for k in range(reach)}), ("sheet", Series.exact(POWERS))]
        return settled(repr(compare_lines("Lines", lines, x_label="n", y_label="s", **how)))

    assert text(9, x_varies=True) == text(12, x_varies=True)
    assert text(9) != text(12)


@pytest.mark.parametrize("kind", [Series.exact, lambda v: Series(v, "published", "published: x")])
def test_a_published_or_exact_value_changed_by_a_fifth_changes_the_text(kind):
    def text(values):
        lines = [("a", kind(values)), ("live", {1: 1.0})]
        return settled(repr(compare_lines("Lines", lines, x_label="x", y_label="y")))

    before, small = text(SMALL), list(SMALL)[1]
    assert all(text({**SMALL, key: 0.8 * SMALL[key]}) != before for key in (small, 2.0**19))


def test_what_is_too_much_for_a_text_is_counted_and_digested():
    spans = [Span("a", "run", k, k + 0.5) for k in range(9)]
    text = draw(spans, "Spans", exact=True).drawn
    later = draw([*spans[:-1], Span("a", "run", 8, 8.6)], "Spans", exact=True).drawn
    assert "a: run × 9, to 8.5 #" in text and text != later

    def many(last):
        values = {f"a case with a name of some {k} and more words": k + 1.0 for k in range(39)}
        return compare_bars("Many", Series({**values, "last": last}, "exact", "exact: x")).drawn

    assert len(many(60.0)) < 1500 and many(60.0) != many(59.0)
    assert "lines more #" in many(60.0)


def test_marked_artists_vary_or_stay_out_and_the_rest_is_told():
    def change(axes):
        (line,) = axes.plot([1, 2, 3], [4.4, 5.5, 6.6], label="live one")
        mark_live(line)
        mark_local(axes.axvline(4), axes.texts[0])

    text = drawn(change)
    assert "live one: 1 → ≈ 4.4; 2 → ≈ 5.5; 3 → ≈ 6.6" in text
    assert "a word" not in text and "line at" not in text and "squares: 20 points" in text


def test_a_panel_of_another_machine_is_named_and_no_more_and_a_title_of_its_own_is_told():
    def change(axes):
        axes.set_title("this machine, live", loc="left")
        mark_local(axes)

    assert drawn(change) == "this machine, live: differs from machine to machine"
    figure, _ = style.one_panel("What the picture says, for $5", 3)
    assert style.render(figure, "Something else", live=False).drawn.startswith("What the picture")
