"""Bands stack up to what is live, in groups that the events have."""

import numpy as np
import pytest

from course_utils.memory.snapshots.lives import BEFORE, history
from course_utils.memory.snapshots.snapshot import load
from course_utils.memory.views.bands import bands, groups
from tests.support.memory_views import opened
from tests.support.snapshots import MIB, changed
from tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch


def test_bands_stack_up_to_what_is_live_and_never_lose_the_peak(worked):
    _, seen = worked
    for low, high, columns, most in ((0, 500, 50, 20), (0, 500, 600, 400), (90, 130, 7, 3)):
        shown = bands(seen, low, high, columns, most)
        edges = shown.edges()
        assert len(shown.moments) <= columns and (shown.chosen >= 0).sum() <= most
        np.testing.assert_array_equal(edges[-1], seen.live[shown.moments])
        assert edges[-1].max() == seen.live[low : high + 1].max()
        assert (np.diff(edges, axis=0) >= 0).all()


def test_a_window_outside_the_trace_is_an_error(worked):
    with pytest.raises(ValueError, match="moments run from 0 to 500, not 3 to 501"):
        bands(worked[1], 3, 501)


def test_groups_are_who_asked_or_the_kinds_that_the_events_have(tmp_path):
    toy = ToyAllocator()
    for name in ("forward", "backward", "forward"):
        toy.alloc(5 * MIB, "main", name)
    names = [name for name, _ in groups(opened(toy, tmp_path))]
    assert names[:3] == [BEFORE, "forward, forward.py:12", "backward, backward.py:13"]

    def name_kinds(content) -> None:
        for event in content["device_traces"][0]:
            event["category"] = "gradient" if event["frames"][0]["name"] == "backward" else "input"

    file = changed(toy, tmp_path / "kinds.pickle", name_kinds)
    assert [name for name, _ in groups(history(load(file)))][:3] == [BEFORE, "gradient", "input"]
