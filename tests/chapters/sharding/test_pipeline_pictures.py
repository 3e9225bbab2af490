"""Pipelines below each other: every rank, every kind of work, on one axis."""

import io

import numpy as np
import pytest
from PIL import Image

from course_utils.chapters.sharding import draw_pipelines, simulate
from tests.chapters.sharding.schedules import gpipe, interleaved, zero_bubble


def test_every_rank_and_kind_is_drawn_and_told():
    runs = {"one": simulate(gpipe(4, 8)), "two": simulate(zero_bubble(2, 8))}
    picture = draw_pipelines("Two orders", {name: run.spans() for name, run in runs.items()})
    assert "rank 3: backward × 8; forward × 8, to 27" in picture.drawn
    assert "input's gradient × 8; weights' gradient × 8" in picture.drawn
    pixels = np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGB"))
    assert pixels.shape[1] == 800 and len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20


def test_four_pipelines_of_four_ranks_fit_a_laptops_page():
    spans = simulate(interleaved(4, 8, 2)).spans()
    picture = draw_pipelines("Four", {str(i): spans for i in range(4)})
    assert Image.open(io.BytesIO(picture.png)).height <= 620
    assert "forward, later stage × 8" in picture.drawn


def test_what_was_measured_is_not_told_to_the_digit():
    spans = simulate(gpipe(2, 3)).spans()
    assert "to 12" in draw_pipelines("Exact", {"": spans}).drawn
    assert "to 12" not in draw_pipelines("Live", {"": spans}, unit="seconds", live=True).drawn


@pytest.mark.parametrize("pipelines", [{}, {"empty": []}])
def test_nothing_to_draw_is_refused(pipelines):
    with pytest.raises(ValueError, match="no spans"):
        draw_pipelines("Nothing", pipelines)
