"""The ruler of time draws what was measured, and says where numbers are from."""

from course_utils.chapters.your_machine.time_ruler import draw_ruler
from course_utils.core.evidence import published
from course_utils.core.measurement import Measurement
from course_utils.figures.drawn.rounded import settled


def test_a_ruler_leaves_out_what_wasnt_measured_and_says_where_numbers_are_from():
    live = {"a read": Measurement((1e-9, 3e-9, 2e-9), 3, None, "host"), "a disk": None}
    assert draw_ruler("A ruler", live).png == draw_ruler("A ruler", {"a read": 2e-9}).png
    assert (
        draw_ruler("A ruler", live, published("latencies")).png != draw_ruler("A ruler", live).png
    )


def test_the_text_of_a_ruler_is_the_same_whatever_was_measured():
    one, two = (
        settled(draw_ruler("A ruler", live, published("latencies")).drawn)
        for live in ({"a read": 2e-9, "a call": 1e-6}, {"a read": 3e-4, "a call": 1e-5})
    )
    assert one == two and "a read: ≈" in one and "main memory: 100 ns" in one


def test_the_text_is_the_same_where_a_time_cannot_be_had():
    def text(**times):
        live = {"a read": 1e-6, **times}
        return settled(draw_ruler("A ruler", live, not_everywhere=("disk",)).drawn)

    assert text(disk=1e-4) == text(disk=None) == text(disk=2e-9)
    assert text(cloud=1e-4) != text()
