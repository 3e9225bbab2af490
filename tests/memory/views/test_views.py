"""The memory views: every byte is in them, they answer, and leave a picture without a kernel."""

import base64
import io
import json
import pickle
import random

import numpy as np
import pytest
from PIL import Image

from course_utils.memory.views.pictures import (
    MemoryTimeline,
    SegmentsMap,
    draw_segments,
    draw_timeline,
    stacked,
)
from snapshots_and_traces.allocator.rules import MiB
from snapshots_and_traces.snapshot_viewer.groups import groups
from snapshots_and_traces.snapshot_viewer.memory_map import map_at
from snapshots_and_traces.snapshots.lives import BEFORE, history
from snapshots_and_traces.snapshots.loading import load, loads
from snapshots_and_traces.tests.support.snapshots import (
    changed,
    opened,
    small_snapshot,
    some_work,
    state_of,
)
from snapshots_and_traces.tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch

DRAWINGS = (draw_timeline, draw_segments)
WIDGETS = (MemoryTimeline, SegmentsMap)


def test_groups_stack_up_to_what_is_live_and_never_lose_the_peak(worked):
    _, seen = worked
    for columns in (7, 50, 600):
        moments, held = stacked(seen, columns)
        assert len(moments) == min(columns, 501) and held.shape[0] == len(groups(seen))
        np.testing.assert_array_equal(held.sum(axis=0), seen.live[moments])
        assert held.sum(axis=0).max() == seen.live.max() and held.min() >= 0


def test_groups_are_named_after_who_asked_or_after_kinds(tmp_path):
    toy = ToyAllocator()
    for name in ("forward", "backward", "forward"):
        toy.alloc(5 * MiB, "main", name)
    names = [name for name, _ in groups(opened(toy, tmp_path))]
    assert names[:3] == [BEFORE, "forward, forward.py:12", "backward, backward.py:13"]

    def name_kinds(content) -> None:
        for event in content["device_traces"][0]:
            event["category"] = "gradient" if event["frames"][0]["name"] == "backward" else "input"

    file = changed(toy, tmp_path / "kinds.pickle", name_kinds)
    assert [name for name, _ in groups(history(load(file)))][:3] == [BEFORE, "gradient", "input"]


def test_the_map_has_every_byte_and_the_largest_gap(worked):
    toy, seen = worked
    for moment in random.Random(0).sample(range(501), 40):
        blocks, ranges = state_of(toy, moment)
        shown, gaps, whole = map_at(seen, moment), [0], 0
        for start, size in ranges:
            inside = [(a, n) for a, n, _, _ in blocks if start <= a < start + size]
            edges = [start, *(x for a, n in inside for x in (a, a + n)), start + size]
            gaps += [b - a for a, b in zip(edges[::2], edges[1::2], strict=True)]
            whole += 0 if inside or toy.expandable else size
        assert shown.reserved == sum(size for _, size in ranges)
        handed_out, _, could_go = shown.bytes_by_kind.values()
        assert handed_out == sum(n for _, n, _, _ in blocks)
        assert toy.expandable or could_go == whole
        assert shown.largest_free == max(gaps)
        assert len(shown.edges) - 1 == len(ranges)


def test_every_view_leaves_a_picture_where_no_kernel_runs(tmp_path):
    seen = opened(some_work(steps=40), tmp_path)
    for widget in WIDGETS:
        bundle, _ = widget(seen)._repr_mimebundle_()
        png = base64.b64decode(bundle["image/png"])
        colours = Image.open(io.BytesIO(png)).convert("RGB").getcolors(1 << 24)
        assert len(colours) > 3 and len(png) < 60_000
        assert bundle["text/plain"].startswith("[widget] ")
        assert f'"view":"{widget.view}"' in json.dumps(widget(seen).words, separators=(",", ":"))


NOTHING = {"segments": [], "device_traces": [[]]}
ONLY_HELD = {**pickle.loads(small_snapshot()), "device_traces": [[]]}


@pytest.mark.parametrize("content", [NOTHING, ONLY_HELD], ids=["nothing", "no trace"])
def test_a_snapshot_without_events_has_views_too(content):
    snapshot = loads(pickle.dumps(content), "few.pickle")
    seen = history(snapshot)
    for view in (*DRAWINGS, *WIDGETS):
        view(seen)
    assert seen.live[0] == sum(s.requested_size for s in snapshot.segments())
