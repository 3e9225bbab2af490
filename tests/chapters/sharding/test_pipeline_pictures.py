"""Pipelines below each other: every rank, every kind of work, on one axis."""

import pytest

from course_utils.chapters.sharding import draw_pipelines, simulate, torch_schedule


def test_every_rank_and_kind_is_drawn_and_told_and_what_was_measured_not_to_the_digit():
    runs = {"one": torch_schedule("GPipe", 4, 8), "two": torch_schedule("ZBVZeroBubble", 2, 8, 2)}
    spans = {name: simulate(run).spans() for name, run in runs.items()}
    picture = draw_pipelines("Two orders", spans)
    assert "rank 3: forward × 8, backward × 8; to 27" in picture.drawn
    assert "later stage" in picture.drawn and picture.png.startswith(b"\x89PNG")
    live = draw_pipelines("Live", spans, unit="seconds", live=True)
    assert "backward × 8, together ≈ 16 s" in live.drawn
    for nothing in ({}, {"empty": []}):
        with pytest.raises(ValueError, match="no spans"):
            draw_pipelines("Nothing", nothing)
