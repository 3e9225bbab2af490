"""The timeline zooms, and says whose a band is."""

import numpy as np
import pytest

from course_utils.memory.views.bands import GROUPS
from course_utils.memory.views.timeline import MemoryTimeline
from tests.support.memory_views import asked

pytestmark = pytest.mark.without_torch


def test_the_timeline_zooms_and_says_whose_a_band_is(worked):
    shown = MemoryTimeline(worked[1])
    asked(shown, "window", [100.4, 2000])
    assert (shown.shown.moments[0], shown.shown.moments[-1]) == (100, 500)
    row = int(np.flatnonzero(shown.shown.chosen >= 0)[0])
    first, *_ = asked(shown, "pick", row, 2)["picked"]
    size = int(worked[1].allocations.size[shown.shown.chosen[row]])
    assert f"({size:,} B)" in first
    assert asked(shown, "pick", -1, 3)["picked"] == []
    assert len(shown.data) == 4 * (
        3 * shown.state["columns"] + 5 * shown.state["rows"]
        + GROUPS * shown.state["columns"]
    )  # fmt: skip
