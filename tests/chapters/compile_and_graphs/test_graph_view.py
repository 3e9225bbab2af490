"""The graph's picture in words, and the widget that draws a program that one chooses."""

import pytest

from course_utils.chapters.compile_and_graphs import draw_graph, graph_widget
from tests.chapters.compile_and_graphs import tracing
from tests.chapters.compile_and_graphs.tracing import trace

PROGRAMS = {
    "x·y + 2": tracing.dead_square,
    "an optimizer's step": lambda p, g, m: tracing.sgd(p, g, m),
    "two sums": tracing.softmax_like,
    "a share": lambda x: x / x.sum(),
}


@pytest.fixture
def widget():
    return graph_widget(trace, PROGRAMS)


def test_who_sees_no_picture_reads_the_graph():
    assert draw_graph("A program", *trace(tracing.dead_square, ["x", "y"])).alt == (
        "A program: loop 1: #1 = x × y, #2 = #1 + 2; dead: #3 = x × x; result #2"
    )
    assert draw_graph("A program", *trace(lambda x: x.sum() / 8, ["x"])).alt == (
        "A program: loop 1: #1 = sum of x; in no loop: #2 = #1 / 8; result #2"
    )
    assert draw_graph("A program", *trace(tracing.softmax_like, ["x"])).alt == (
        "A program: loop 1: #1 = sum of x; loop 2: #2 = x − #1, #3 = sum of #2; "
        "loop 3: #2 again, #4 = #2 / #3; result #4"
    )


def test_picture_and_words_follow_every_control(widget):
    program, picture, reading = widget.children
    assert "at most <b>2.33×</b> as fast" in reading.value
    before = bytes(picture.value)
    program.value = "two sums"
    assert bytes(picture.value) != before and "1.5×" in reading.value
    program.value = "a share"
    assert "fusing saves no pass" in reading.value
    program.value = "an optimizer's step"
    assert "3.75×" in reading.value
