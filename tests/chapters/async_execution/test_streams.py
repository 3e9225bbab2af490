"""Streams in virtual time and the queue behind the widget: exact, so tested exactly."""

import pytest

from course_utils.chapters.async_execution.streams import Host, VirtualStream, queue_spans, race

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize(
    "times, about, total",
    [
        ((1, 40, 50), {"n": 100}, 1 + 100 * 40 + 50),  # device-bound
        ((40, 1, 50), {"n": 100}, 100 * 40 + 1 + 50),  # launch-bound
        ((1, 40, 50), {"n": 1}, 91),
        ((10, 40, 0), {"n": 20, "depth": 1}, 20 * 50),  # each is launched when the last is done
    ],
)
def test_the_queue_keeps_the_formulas_that_the_chapter_teaches(times, about, total):
    assert max(span.end for span in queue_spans(*times, **about)) == total


def test_a_full_queue_makes_the_cpu_wait_and_never_holds_more_than_its_depth():
    spans = queue_spans(1, 10, 0, n=12, depth=3)
    launches = [s.end for s in spans if s.label == "launch"]
    ends = [s.end for s in spans if s.label == "run"]
    for moment in launches:
        waiting_or_running = sum(t <= moment for t in launches) - sum(t <= moment for t in ends)
        assert waiting_or_running <= 3
    assert any(s.label == "wait" for s in spans)


def streams():
    host = Host()
    copier = VirtualStream("copy", host, 1.0, writes=True)
    return host, copier, VirtualStream("compute", host, 2.0, writes=False)


def test_streams_run_at_once_and_reading_before_the_copy_is_a_race():
    host, copier, computer = streams()
    copier.launch(0, 0)
    copier.launch(1, 1)
    computer.launch(0, 0)
    assert [(a.start, a.end) for a in host.accesses] == [(0, 1), (1, 2), (0, 2)]
    assert "before it is there" in race(host.accesses)


def test_an_event_orders_two_streams_without_the_host_and_overwriting_is_a_race():
    host, copier, computer = streams()
    copier.launch(0, 0)
    computer.wait_event(copier.record_event())
    computer.launch(0, 0)
    assert host.accesses[1].start == 1 and host.waits == 0
    assert race(host.accesses) is None
    copier.launch(1, 0)
    assert "overwritten" in race(host.accesses)
