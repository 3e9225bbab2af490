"""What every view has: a picture, with and without events, a kernel or a whole file."""

import pickle
import random

import pytest

from course_utils.memory.snapshots import safe_pickle
from course_utils.memory.snapshots.lives import history
from course_utils.memory.snapshots.snapshot import SnapshotError, load
from course_utils.memory.views.peak_icicle import PeakIcicle, draw_peak
from course_utils.memory.views.segments_map import SegmentsMap, draw_segments
from course_utils.memory.views.timeline import MemoryTimeline, draw_timeline
from tests.support.memory_views import is_drawn
from tests.support.snapshots import damaged, small_snapshot

pytestmark = pytest.mark.without_torch

DRAWINGS = (draw_timeline, draw_segments, draw_peak)
WIDGETS = (MemoryTimeline, SegmentsMap, PeakIcicle)


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda d: d.__name__)
def test_every_view_is_drawn(draw, worked):
    assert is_drawn(draw(worked[1]))


NOTHING = {"segments": [], "device_traces": [[]]}
ONLY_HELD = {**pickle.loads(small_snapshot()), "device_traces": [[]]}


@pytest.mark.parametrize("content", [NOTHING, ONLY_HELD], ids=["nothing", "no trace"])
def test_a_snapshot_without_events_has_views_too(content, tmp_path):
    file = tmp_path / "few.pickle"
    file.write_bytes(pickle.dumps(content))
    seen = history(load(file))
    for draw in DRAWINGS:
        draw(seen)
    for widget in WIDGETS:
        widget(seen)
    assert seen.live[0] == sum(s.requested_size for s in load(file).segments())


@pytest.mark.parametrize("widget", WIDGETS)
def test_a_widget_leaves_a_picture_where_no_kernel_runs(widget, worked):
    bundle, _ = widget(worked[1])._repr_mimebundle_()
    assert bundle["image/png"].startswith("iVBORw0KGgo")
    assert bundle["text/plain"].startswith("[widget] ")


def test_damaged_snapshots_that_are_read_can_be_viewed(tmp_path):
    choose, whole, seen = random.Random(5), small_snapshot(), 0
    for _ in range(600):
        data = damaged(whole, choose)
        try:
            safe_pickle.read(data)
            (tmp_path / "damaged.pickle").write_bytes(data)
            snapshot = load(tmp_path / "damaged.pickle")
            for device in snapshot.devices[:3]:
                found = history(snapshot, device)
                for widget in WIDGETS:
                    widget(found)
            seen += 1
        except SnapshotError:
            continue
    assert seen > 30
