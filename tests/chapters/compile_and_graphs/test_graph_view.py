"""The graph's picture in words, and the widget that draws a program that one chooses or types."""

import base64
import io

import pytest
from PIL import Image

from course_utils.chapters.compile_and_graphs import draw_graph, graph_view, graph_widget
from tests.chapters.compile_and_graphs import tracing
from tests.chapters.compile_and_graphs.tracing import trace
from tests.support.figures import picture_problems

PROGRAMS = {
    "x·y + 2": tracing.dead_square,
    "an optimizer's step": tracing.sgd,
    "two sums": tracing.softmax_like,
}


def drawn(program, names, title="A program"):
    return draw_graph(title, *trace(program, names.split()))


@pytest.fixture
def widget(monkeypatch):
    box = type("Box", (), {"caches": ()})
    monkeypatch.setattr(graph_view, "look", lambda: box)
    return graph_widget(trace, PROGRAMS)


def test_who_sees_no_picture_reads_the_graph():
    assert drawn(tracing.dead_square, "x y").alt == (
        "A program: loop 1: #1 = x × y, #2 = #1 + 2; dead: #3 = x × x; result #2"
    )
    assert drawn(tracing.softmax_like, "x").alt == (
        "A program: loop 1: #1 = sum of x; loop 2: #2 = x − #1, #3 = sum of #2; "
        "loop 3: #4 = #2 / #3; result #4"
    )
    assert drawn(lambda x: x.sum() / 8, "x").alt == (
        "A program: loop 1: #1 = sum of x; in no loop: #2 = #1 / 8; result #2"
    )


def test_passes_stand_under_the_graph():
    said = repr(drawn(lambda p, g, m: tracing.sgd(p, g, m), "p g m"))
    assert "one by one: 15 passes over memory; fused: 4" in said and "thin" not in said
    assert "1 pass over memory; fused: 1 · a thin arrow" in repr(drawn(lambda x: x.sum(), "x"))


def test_what_is_dead_says_so_once_a_box():
    said = repr(drawn(lambda x, y, z: (x * 3, y / x, x + y)[2], "x y z"))
    assert said.count("dead") == 3  # twice in the picture, once before both in its text


@pytest.mark.parametrize("title", ["A short one", "A title as long as two lines, " * 4])
@pytest.mark.parametrize("program, names", [(tracing.chain, "x"), (lambda x: x, "x")])
def test_the_picture_is_one_and_the_same_and_fits_a_small_screen(program, names, title):
    picture = drawn(program, names, title)
    size = Image.open(io.BytesIO(picture.png)).size
    assert size[0] == 800 and 100 < size[1] < 480
    shown = picture.bundle("[figure] a title")
    assert shown == drawn(program, names, title).bundle("[figure] a title")


def test_a_page_may_keep_the_picture():
    picture = drawn(tracing.softmax_like, "x")
    shown = picture.bundle(f"[figure] {picture.alt}")
    png = base64.b64decode(shown["image/png"])
    assert picture_problems(png, shown["text/plain"]) == []


def test_unmoved_the_widget_shows_the_first_program(widget):
    *_, picture, reading = widget.children
    assert bytes(picture.value) == drawn(tracing.dead_square, "x y", "x·y + 2").png
    assert "7 passes</b>, 280 MB" in reading.value and "3 passes</b>, 120 MB" in reading.value
    assert "at most <b>2.33×</b> as fast" in reading.value


def test_picture_and_words_follow_every_control(widget):
    program, typed, elements, picture, reading = widget.children
    before = bytes(picture.value)
    program.value = "two sums"
    assert bytes(picture.value) != before and "1.2×" in reading.value
    elements.value = 10**9
    assert "24 GB" in reading.value and "20 GB" in reading.value
    typed.value = " x / x.sum() "
    assert bytes(picture.value) == drawn(lambda x: x / x.sum(), "x", "x / x.sum()").png
    assert "fusing saves no pass" in reading.value
    program.value = "an optimizer's step"
    assert typed.value == "" and "15 passes" in reading.value and "3.75×" in reading.value


def test_what_fits_into_the_caches_is_told_no_bound(widget):
    _, _, elements, _, reading = widget.children
    elements.value = 1000
    assert "28 kB" in reading.value and "nothing of the time" in reading.value
    assert "as fast" not in reading.value


@pytest.mark.parametrize("wrong", ["x *", "w + 1", "x ** 2", "x / 0 / (1 / 0)", "(2).sum() + x"])
def test_a_wrong_expression_is_told_and_the_last_picture_stays(widget, wrong):
    program, typed, _, picture, reading = widget.children
    program.value = "two sums"
    before = bytes(picture.value)
    typed.value = wrong
    assert bytes(picture.value) == before
    assert reading.value.startswith("✗ ") and "\n" not in reading.value
    typed.value = ""
    assert "6 passes" in reading.value


def test_a_program_of_ones_own_that_fails_is_told_in_its_own_words():
    def mine(x):
        raise RuntimeError("no <tanh> here")

    program, _, _, _, reading = graph_widget(trace, {"x": lambda x: x + 1, "mine": mine}).children
    program.value = "mine"
    assert reading.value == "✗ no &lt;tanh&gt; here"


def test_a_widget_without_a_program_is_refused():
    with pytest.raises(ValueError, match="needs a program to begin with"):
        graph_widget(trace, {})
