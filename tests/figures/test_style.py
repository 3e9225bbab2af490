"""What every figure has: a title for who sees no picture, few bytes, the reader's own settings."""

import matplotlib as mpl
import pytest

from course_utils.figures.compare import compare_bars
from course_utils.figures.timeline import Span, draw
from tests.support.evidence import PUBLISHED, RECORDED

pytestmark = pytest.mark.without_torch


def test_the_title_is_what_a_reader_without_pictures_gets(fake_machine):
    fake_machine()
    text = repr(compare_bars("Copies overlap", {"a": 1.0}))
    assert text.splitlines() == ["[figure] Copies overlap", "live", "  a: ≈ 1 s"]


def test_a_figure_stays_small_enough_for_a_notebook(fake_machine):
    fake_machine()
    assert len(compare_bars("All three", {"run": 1.0}, RECORDED, PUBLISHED).png) < 40_000


def test_the_readers_own_matplotlib_settings_are_left_alone(fake_machine):
    fake_machine()
    before = dict(mpl.rcParams)
    compare_bars("One", {"run": 1.0})
    draw([Span("a", "b", 0, 1)], "Two")
    assert dict(mpl.rcParams) == before
