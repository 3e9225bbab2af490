"""The reader's prediction stands in each figure that takes one, where the axis has its number."""

import pytest

from course_utils.core import guesses
from course_utils.core.evidence import Series
from course_utils.figures.byte_bars import stacked_bytes
from course_utils.figures.compare import compare_bars, compare_lines

pytestmark = pytest.mark.without_torch
MIB = 2**20
COUNTED = {"a": {"parameter": 3 * MIB, "gradient": MIB}, "b": {"parameter": 8 * MIB}}


@pytest.fixture(autouse=True)
def nobody_guessed(fake_machine):
    fake_machine()
    yield
    guesses.make("it.is", ..., "", ())


def bars(**how):
    counted = Series({"one": 1e-3, "two": 4e-3}, "exact", "exact: counted")
    return compare_bars("Two runs", counted, **how)


def lines(**how):
    squares = Series.exact({x: x * x for x in range(1, 11)})
    return compare_lines("Squares", [("x²", squares)], x_label="metres", y_label="watts", **how)


def stacks(**how):
    return stacked_bytes("Two cases", COUNTED, **how)


# what is drawn, with which words to ask for the guess, the guess and its unit, where it stands
PLACES = [
    (bars, "guess", 2, "ms", "x", 2),
    (bars, "guess", 2000, "µs", "x", 2),
    (lines, "guess", 30, "watts", "y", 30),
    (lines, "guess_at", 4, "metres", "x", 4),
    (stacks, "guess", 5, "MiB", "x", 5),
    (stacks, "guess", 6 * MIB, "bytes", "x", 6),
]


def added(draw, ask):
    """The lines of the figure's text that are there because somebody guessed."""
    before = draw().drawn.splitlines()
    return [line for line in draw(**{ask: "it.is"}).drawn.splitlines() if line not in before]


@pytest.mark.parametrize(("draw", "ask", "guess", "unit", "axis", "place"), PLACES)
def test_a_number_is_a_line_across_at_its_place(draw, ask, guess, unit, axis, place):
    made = guesses.make("it.is", guess, unit, ())
    assert added(draw, ask) == [f"  you: {made}, at {axis} = {place}"]


@pytest.mark.parametrize(
    "guess, unit, among, words",
    [
        (400, "ms", (), "  you: 400 ms →"),  # beyond the axis
        (-4, "ms", (), "  you: -4 ms ←"),
        ("two", "", ("one", "two"), "  you: two"),
        ((2, 3), "ms", (), "  you: 2 to 3 ms, at x = 2 to 3"),
    ],
)
def test_a_guess_beyond_the_axis_is_an_arrow_a_name_is_marked_and_a_range_is_an_area(
    guess, unit, among, words
):
    guesses.make("it.is", guess, unit, among)
    assert added(bars, "guess") == [words]

    guesses.make("it.is", ..., "", ())
    assert added(bars, "guess") == added(lines, "guess_at") == added(stacks, "guess") == []
