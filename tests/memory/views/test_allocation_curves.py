"""The figure of allocation curves: every setting, and where memory ran out."""

import io

import numpy as np
import pytest
from PIL import Image

from course_utils.memory.allocator.rules import MiB
from course_utils.memory.allocator.settings import Settings
from course_utils.memory.views.allocation_curves import draw_outcomes
from course_utils.memory.what_if import run
from tests.support.snapshots import asked_for

pytestmark = pytest.mark.without_torch


def test_the_figure_shows_every_setting_and_where_memory_ran_out():
    program = asked_for("fragmented")
    outcomes = {
        "default": run(program),
        "expandable": run(program, Settings.parse("expandable_segments:True")),
        "on 256 MiB": run(program, capacity=256 * MiB),
    }
    assert outcomes["on 256 MiB"].ran_out is not None
    picture = draw_outcomes(outcomes, "Expandable segments reserve less")
    pixels = np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGB"))
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_outcomes({}, "x")
