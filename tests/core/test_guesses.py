"""What people write is read as a number, a range or names; what can't be is said, not raised."""

import math

import pytest

from course_utils.core import guesses
from course_utils.core.guesses import GuessError

pytestmark = pytest.mark.without_torch


def ends(wanted, unit="ms"):
    made = guesses.make("a.b", wanted, unit, ())
    return made.low, made.high


@pytest.mark.parametrize(
    "wanted, number",
    [("3×10^6", 3e6), ("2 * 10**-3", 0.002), ("0,125", 0.125), ("2.7 ms", 2.7), (".5", 0.5),
     (2.7, 2.7), ("2.7", 2.7), ("2,7", 2.7), ("1,024", 1024), ("1,234,567", 1234567),
     ("1/3", 1 / 3), ("1e-3", 1e-3), ("10**6", 1e6), ("2^20", 2**20), ("≈ 40", 40), ("3×", 3),
     (" -2 ", -2), ("1 000", 1000), (0, 0)],
)  # fmt: skip
def test_a_number_is_read_as_people_write_it(wanted, number):
    assert ends(wanted) == pytest.approx((number, number))


@pytest.mark.parametrize(
    "wanted", [(2, 5), [5, 2], "2 to 5", "2–5", "2-5", "2..5", "5 to 2", "2 - 5", "(2, 5)"]
)
def test_a_range_has_two_ends_in_order(wanted):
    assert ends(wanted) == (2, 5)


def test_a_number_below_zero_is_no_range():
    assert ends("-3") == (-3, -3) and ends("-3 to -1") == (-3, -1)


@pytest.mark.parametrize("wanted", [None, ..., "", "  ", (), []])
def test_nothing_written_is_no_guess_and_takes_back_the_last(wanted):
    guesses.make("a.b", 3, "ms", ())
    assert guesses.make("a.b", wanted, "ms", ()) is None
    assert guesses.of("a.b") is None


@pytest.mark.parametrize(
    "wanted",
    [
        "many",
        "1/0",
        (1, 2, 3),
        {},
        object(),
        True,
        math.nan,
        "inf",
        "10**9999",
        (1, "x"),
        "50%",
        "1e9999999",
        "(-8)**0.5",
        "3 apples",
    ],
)
def test_what_cannot_be_read_is_said_with_how_to_write_it(wanted):
    with pytest.raises(GuessError, match=r"write a number, such as 2\.7"):
        guesses.make("a.b", wanted, "ms", ())
    assert guesses.of("a.b") is None


def test_a_unit_may_be_written_with_the_number_but_no_other():
    assert guesses.make("a.b", "≈ 40 %", "%", ()).low == 40
    assert guesses.make("a.b", "3 to 5 GB/s", "GB/s", ()).high == 5
    with pytest.raises(GuessError):
        guesses.make("a.b", "40 %", "ms", ())


def test_a_range_without_its_brackets_is_explained():
    with pytest.raises(GuessError, match=r"a range is one argument: \(2, 5\)"):
        guesses.make("a.b", 2, 5, ("ms",))


def test_names_are_chosen_in_any_case_and_others_are_listed():
    made = guesses.make("a.b", ["RING", "tree"], "", ("naive", "ring", "tree"))
    assert made.named == {"ring", "tree"} and str(made) == "ring, tree"
    with pytest.raises(GuessError, match="'star' isn't among the answers: naive, ring"):
        guesses.make("a.b", "star", "", ("naive", "ring"))
    with pytest.raises(GuessError, match="3 isn't among"):
        guesses.make("a.b", [3], "", ("naive", "ring"))
    with pytest.raises(GuessError, match="3 isn't among"):
        guesses.make("a.b", 3, "", ("naive", "ring"))


def test_a_guess_is_converted_where_the_axis_is_in_seconds_bytes_or_shares():
    assert guesses.make("a.b", 2, "ms", ()).ends("seconds") == (0.002, 0.002)
    assert guesses.make("a.b", 2, "GiB", ()).ends("bytes") == (2**31, 2**31)
    assert guesses.make("a.b", 2, "GiB", ()).ends("GiB of a step") == (2, 2)
    assert guesses.make("a.b", 40, "%", ()).ends("share hidden") == (0.4, 0.4)
    assert guesses.make("a.b", 40, "GB/s", ()).ends("GB/s (10⁹ bytes)") == (40, 40)
