"""A link of gathers: one after the other, and waited for."""

import time

from course_utils.chapters.sharding.gathers import GatherLink


def test_two_gathers_begun_together_come_one_after_the_other():
    link = GatherLink(0.02)
    seconds = link.clock(lambda: [one.wait() for one in [link.gather(), link.gather()]])
    assert seconds >= 0.04
    assert [round(span.end - span.start, 6) for span in link.spans if span.row == "link"] == [
        0.02,
        0.02,
    ]


def test_a_rank_computes_from_one_wait_to_the_next():
    link = GatherLink(0.01)

    def two_blocks():
        for _ in range(2):
            link.gather().wait()
            time.sleep(0.02)

    seconds = link.clock(two_blocks)
    rank = sorted((s for s in link.spans if s.row == "rank"), key=lambda span: span.start)
    assert [span.label for span in rank] == ["wait", "compute"] * 2
    assert rank[-1].end == seconds and rank[1].end == rank[2].start
    assert {span.label for span in link.spans if span.row == "link"} == {"gather"}
