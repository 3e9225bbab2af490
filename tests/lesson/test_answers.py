"""What counts as a number, as a list, and as close."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import count

import ml_dtypes
import numpy as np
import pytest
import torch

from course_utils.lesson.answers import (
    MOST,
    against,
    as_list,
    as_number,
    as_numbers,
    close,
    shown,
)
from course_utils.lesson.exercises import Wrong

THREES = [
    3, 3.0, Fraction(3), Decimal(3), np.int64(3), np.uint8(3), np.float16(3), np.float64(3),
    np.array(3), np.array([3]), np.array([[3.0]]), ml_dtypes.bfloat16(3), torch.tensor(3),
    torch.tensor([3.0]), torch.tensor(3.0, dtype=torch.bfloat16),
    torch.tensor(3.0, requires_grad=True), torch.nn.Parameter(torch.tensor(3.0)),
]  # fmt: skip
NANS = [
    math.nan, np.float32("nan"), np.array(math.nan), np.array([math.nan]),
    ml_dtypes.bfloat16("nan"), torch.tensor(math.nan), Decimal("nan"),
]  # fmt: skip
NO_NUMBERS = [
    None, True, np.True_, torch.tensor(True), "3", b"3", 3j, [3], (3,), {3}, [], {},
    np.array([]), np.array([3, 4]), torch.zeros(2, 2), object(), lambda: 3, np.array("3"),
]  # fmt: skip
LISTS = [
    [0, 1, 2], (0, 1, 2), range(3), np.arange(3), torch.arange(3.0), {0: 0, 1: 0, 2: 0}.keys(),
    {0: 0, 1: 1, 2: 2}.values(), (n for n in range(3)), [torch.tensor(n) for n in range(3)],
    torch.nn.Parameter(torch.arange(3.0)),
]  # fmt: skip
kind = {"ids": lambda value: type(value).__name__}  # the same in every process that collects it


@pytest.mark.parametrize("three", THREES, **kind)
def test_a_number_of_any_library_is_a_number(three):
    found = as_number(three)
    assert found == 3 and type(found) in (int, float)


@pytest.mark.parametrize("nan", NANS, **kind)
def test_nan_of_any_library_is_no_number_and_the_message_says_nan(nan):
    for read, answer in ((as_number, nan), (as_numbers, [1, nan])):
        with pytest.raises(Wrong, match="your function returned nan"):
            read(answer)


@pytest.mark.parametrize("other", NO_NUMBERS, **kind)
def test_what_is_no_number_is_said_as_it_is(other):
    with pytest.raises(Wrong, match="want a number"):
        as_number(other)


def test_infinity_and_huge_whole_numbers_stay_what_they_are():
    assert as_number(-math.inf) == -math.inf and as_number(torch.tensor(math.inf)) == math.inf
    assert as_number(10**400 + 1) == 10**400 + 1


@pytest.mark.parametrize("numbers", LISTS, **kind)
def test_numbers_come_in_anything_that_can_be_gone_through_and_are_counted(numbers):
    assert as_numbers(numbers, 3) == [0, 1, 2]
    with pytest.raises(Wrong, match="2 numbers, want 3"):
        as_numbers([1, 2], 3)


@pytest.mark.parametrize("other", [None, 3, "text", b"text", {1: 2}, np.array(3), len])
def test_what_is_no_list_is_said_as_it_is(other):
    with pytest.raises(Wrong, match="want a list"):
        as_list(other)


def test_a_list_keeps_its_entries_a_matrix_gives_its_rows_and_one_without_end_is_left():
    assert as_list([(1, "a", True)]) == [(1, "a", True)]
    assert as_list(np.eye(2)) == [[1, 0], [0, 1]]
    assert len(as_list(range(MOST))) == MOST
    with pytest.raises(Wrong, match="does it ever end"):
        as_list(count())


def test_close_is_measured_by_what_was_wanted_and_nan_is_close_to_nothing():
    assert close(100.9, 100, rel_tol=0.01) and not close(101.005, 100, rel_tol=0.01)
    assert close(0.009, 0, abs_tol=0.01) and not close(0.011, 0, abs_tol=0.01)
    assert close(math.inf, math.inf) and not close(1e300, math.inf) and not close(math.inf, 1.0)
    assert not any(close(*pair, 1, 1) for pair in [(math.nan, 1), (1, math.nan), (math.nan,) * 2])


def test_an_answer_is_shown_short_and_one_that_cannot_be_shown_by_its_type():
    class Shy:
        def __repr__(self):
            raise RuntimeError

    assert shown(3) == "3" and len(shown(list(range(1000)))) == 60
    assert shown(Shy()) == "something of type Shy"


def said(answer, reference, cases, **how):
    with pytest.raises(Wrong) as wrong:
        against(answer, reference, cases, **how)
    return str(wrong.value)


def test_the_shortest_case_that_fails_is_shown_with_both_results():
    cases = [(n, [0.5] * n) for n in (7, 5, 3, 9)]
    assert said(lambda n, xs: n, lambda n, xs: n + (n > 3), cases) == (
        "for n=5, xs=[0.5, 0.5, 0.5, 0.5, 0.5]: you gave 5; it is 6"
    )
    rows = [[0.25] * 20, [0.5] * 20]
    assert said(lambda n: np.array(rows) / n, lambda n: rows, [(2,)]) == (
        "for n=2, entry [0, 0]: you gave 0.125; it is 0.25"
    )
    ends = said(lambda n: 2.5, lambda n: 1 / 3, [(3,)], why=lambda n: f" ({n} parts)")
    assert ends == "for n=3: you gave 2.5; it is 0.333333 (3 parts)"


@pytest.mark.parametrize(
    "want, right, wrong",
    [
        (3, [3, np.int64(3), 3.0], [4, 3.0000001, None]),
        (1 / 3, [1 / 3, np.float32(1 / 3), torch.tensor(1 / 3)], [0.3334, 0, None]),
        ("ring", ["ring", np.str_("ring")], ["tree", 3, None]),
        (None, [None], [0, "None"]),
        ((1, 0.5), [(1, 0.5), [1, 0.5], torch.tensor([1, 0.5])], [(1, 0.6), (1,), (1, 0.5, 2)]),
        ({"a", "b"}, [{"a", "b"}, ["b", "a"]], [{"a"}, []]),
        ({"a": 1}, [{"a": 1.0}], [{"a": 2}, {"b": 1}, {}, {"a": 1, "b": 3}]),
    ],
)
def test_an_answer_is_compared_by_its_values_whichever_library_holds_them(want, right, wrong):
    for answer in right:
        against(lambda n, answer=answer: answer, lambda n: want, [(0,)])
    for answer in wrong:
        assert " you gave " in said(lambda n, answer=answer: answer, lambda n: want, [(0,)])


def test_an_answer_that_changes_its_arguments_is_refused_and_spoils_no_reference():
    assert said(lambda xs: xs.pop(), lambda xs: xs[-1], [([1, 2],)]) == (
        "for xs=[1, 2]: your function changed what it was given"
    )


def test_what_an_answer_raises_has_the_case_in_a_note():
    with pytest.raises(ZeroDivisionError) as error:
        against(lambda n: 1 / n, lambda n: 0.0, [(0,)])
    assert error.value.__notes__ == ["for n=0"]
