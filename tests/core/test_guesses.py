"""What people write is read as a number, a range or names; what can't be is said, not raised."""

import math

import pytest

from course_utils.core import guesses
from course_utils.core.guesses import GuessError

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize(
    "wanted, low, high",
    [("2.7 ms", 2.7, 2.7), (".5", 0.5, 0.5), (2.7, 2.7, 2.7), ("1/3", 1 / 3, 1 / 3),
     ("1e-3", 1e-3, 1e-3), (" -2 ", -2, -2), (0, 0, 0), ((2, 5), 2, 5), ([5, 2], 2, 5),
     ("2 to 5", 2, 5), ("2–5", 2, 5), ("2-5", 2, 5), ("5 to 2", 2, 5), ("2 - 5", 2, 5),
     ("(2, 5)", 2, 5), ("-3 to -1", -3, -1), ("3 to 5 ms", 3, 5), ("1e-3 to 1e-2", 1e-3, 1e-2),
     ("1,024", 1024, 1024), ("1,024 to 2,048", 1024, 2048), ("3 µs", 3e-3, 3e-3),
     ("1 s", 1e3, 1e3)],
)  # fmt: skip
def test_a_number_or_a_range_is_read_as_people_write_it(wanted, low, high):
    made = guesses.make("a.b", wanted, "ms", ())
    assert (made.low, made.high) == pytest.approx((low, high))


@pytest.mark.parametrize("wanted", [None, ..., "", "  ", (), []])
def test_nothing_written_is_no_guess_and_takes_back_the_last(wanted):
    guesses.make("a.b", 3, "ms", ())
    assert guesses.make("a.b", wanted, "ms", ()) is None
    assert guesses.of("a.b") is None


UNREAD = [
    "many",
    "1/0",
    "inf",
    "10**9",
    "1e9999999",
    "2,7",
    "1,02",
    "1, 024",
    "3 apples",
    "40 %",
    "1 2",
]


@pytest.mark.parametrize(
    "wanted", [*UNREAD, (1, 2, 3), (1, "x"), {}, object(), True, math.nan, 10**400]
)
def test_what_cannot_be_read_is_said_with_how_to_write_it(wanted):
    with pytest.raises(GuessError, match=r"write a number, such as 2\.7"):
        guesses.make("a.b", wanted, "ms", ())
    assert guesses.of("a.b") is None


@pytest.mark.parametrize("unit, said", [("ms", "1 ms"), ("GB/s", "1 GB/s"), ("times", "1 time")])
def test_one_has_no_plural_and_is_read_again_as_it_is_written(unit, said):
    assert str(guesses.make("a.b", 1, unit, ())) == said
    assert guesses.make("a.b", said, unit, ()).low == 1
    assert guesses.make("a.b", "5 ms", "s", ()).low == 5e-3


def test_what_cannot_be_read_is_said_with_the_unit():
    with pytest.raises(GuessError, match=r"in MiB$"):
        guesses.make("a.b", "3 apples", "MiB", ())


@pytest.mark.parametrize(
    "unit, said", [("ms", "is in ms, not in apples"), ("", "has no unit, so not in apples")]
)
def test_another_unit_than_the_questions_is_named(unit, said):
    with pytest.raises(GuessError, match=f"this question {said}: write a number"):
        guesses.make("a.b", "3 apples", unit, ())


def test_a_range_without_its_brackets_is_explained():
    with pytest.raises(GuessError, match=r"a range is one argument: \(2, 5\)"):
        guesses.make("a.b", 2, 5, ("ms",))


def test_names_are_chosen_in_any_case_and_others_are_listed():
    made = guesses.make("a.b", ["RING", "tree"], "", ("naive", "ring", "tree"))
    assert made.named == {"ring", "tree"} and str(made) == "ring, tree"
    assert guesses.make("a.b", "ring, naive ", "", ("naive", "ring")).named == {"ring", "naive"}
    for wanted in ("star", ["star"]):
        with pytest.raises(GuessError, match="'star' isn't among the answers: naive, ring"):
            guesses.make("a.b", wanted, "", ("naive", "ring"))


@pytest.mark.parametrize(
    "number, unit, axis, end",
    [
        (2, "ms", "seconds", 0.002),
        (2, "GiB", "bytes", 2**31),
        (2, "GiB", "GiB of a step", 2),
        (40, "%", "share hidden", 0.4),
        (40, "GB/s", "GB/s (10⁹ bytes)", 40),
    ],
)
def test_a_guess_is_converted_where_the_axis_is_in_seconds_bytes_or_shares(number, unit, axis, end):
    assert guesses.make("a.b", number, unit, ()).ends(axis) == (end, end)
