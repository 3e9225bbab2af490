"""A table shows what it is given, and says where it is from."""

import pytest

from course_utils.core.measurement import Measurement
from course_utils.figures.tables import table
from tests.support.evidence import RECORDED

pytestmark = pytest.mark.without_torch


def test_a_table_shows_live_with_a_mark_recorded_without_and_where_it_is_from():
    live = [{"what": "run", "seconds": Measurement((0.002,), 1, None, "host"), "note": None}]
    html = table("A <table>", live, RECORDED).data
    assert "≈ 2 ms" in html and "2 s" in html and "recorded: H200" in html
    assert "A &lt;table&gt;" in html and "–" in html
