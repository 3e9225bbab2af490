"""Spans on a timeline: from any thread, and after an error."""

import pytest

from course_utils.figures.timeline import Spans, draw

pytestmark = pytest.mark.without_torch


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
