"""The memory views: every byte is in them, they answer, and leave a picture without a kernel."""

import base64
import io
import pickle
import random

import numpy as np
import pytest
from PIL import Image

from course_utils.memory.views.peak_icicle import PeakIcicle, draw_peak, tree
from course_utils.memory.views.segments_map import SegmentsMap, draw_segments
from course_utils.memory.views.timeline import MemoryTimeline, draw_timeline
from snapshots_and_traces.allocator.rules import MiB
from snapshots_and_traces.snapshot_viewer.bands import GROUPS, bands, groups
from snapshots_and_traces.snapshot_viewer.memory_map import MemoryMap
from snapshots_and_traces.snapshot_viewer.words import allocation_lines
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

DRAWINGS = (draw_timeline, draw_segments, draw_peak)
WIDGETS = (MemoryTimeline, SegmentsMap, PeakIcicle)


def asked(widget, what: str, value, count: int = 1):
    widget.action = {"do": what, "with": value, "count": count}
    assert widget.state["answered"] == count
    return widget.state


def test_bands_stack_up_to_what_is_live_and_never_lose_the_peak(worked):
    _, seen = worked
    for low, high, columns, most in ((0, 500, 50, 20), (0, 500, 600, 400), (90, 130, 7, 3)):
        shown = bands(seen, low, high, columns, most)
        edges = shown.edges()
        assert len(shown.moments) <= columns and (shown.chosen >= 0).sum() <= most
        np.testing.assert_array_equal(edges[-1], seen.live[shown.moments])
        assert edges[-1].max() == seen.live[low : high + 1].max()
        assert (np.diff(edges, axis=0) >= 0).all()
    with pytest.raises(ValueError, match="moments run from 0 to 500, not 3 to 501"):
        bands(seen, 3, 501)


def test_words_say_how_long_something_lived_and_who_asked_or_its_kind(tmp_path):
    toy = ToyAllocator()
    for name in ("forward", "backward", "forward"):
        toy.alloc(5 * MiB, "main", name)
    toy.free(toy.alloc(50 * MiB, "main", "forward"))
    seen = opened(toy, tmp_path)
    lines = [allocation_lines(seen, place)[0] for place in range(len(seen.allocations))]
    assert lines[0].startswith("5.00 MiB") and lines[0].endswith("never freed")
    assert "50.0 MiB (52,428,800 B), from event 6 to event 8, 0.020 ms" in lines[-1]
    names = [name for name, _ in groups(seen)]
    assert names[:3] == [BEFORE, "forward, forward.py:12", "backward, backward.py:13"]

    def name_kinds(content) -> None:
        for event in content["device_traces"][0]:
            event["category"] = "gradient" if event["frames"][0]["name"] == "backward" else "input"

    file = changed(toy, tmp_path / "kinds.pickle", name_kinds)
    assert [name for name, _ in groups(history(load(file)))][:3] == [BEFORE, "gradient", "input"]


def test_the_peak_is_shared_out_among_call_stacks_to_the_last_byte(tmp_path):
    toy = ToyAllocator()
    toy.alloc(5 * MiB, "main")
    for _ in range(4):
        toy.alloc(3 * MiB, "main", "step", "forward")
    toy.alloc(2 * MiB, "main", "step", "backward")
    found = [
        (node.name, node.size // MiB, node.count, depth, left // MiB)
        for node, depth, left in tree(opened(toy, tmp_path)).walk()
    ]
    assert found[1:] == [
        ("main, main.py:10", 19, 6, 1, 0),
        ("step, step.py:11", 14, 5, 2, 0),
        ("forward, forward.py:12", 12, 4, 3, 0),
        ("backward, backward.py:13", 2, 1, 3, 12),
    ]


def test_the_map_has_every_byte_and_the_largest_gap_and_tells_what_is_where(worked):
    toy, seen = worked
    layout = MemoryMap(seen, rows=7, cells=31)
    for moment in random.Random(0).sample(range(501), 40):
        blocks, ranges = state_of(toy, moment)
        shown, gaps, whole = layout.at(moment), [0], 0
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
        assert len(shown.segments) == len(ranges)
    layout = MemoryMap(seen)
    for allocation in seen.allocations.at(seen.peak)[::5].tolist():
        address = seen.allocations.address[allocation] + seen.block_sizes[allocation] // 2
        segment, found = layout.find(
            seen.peak, int(layout.place(np.array([address]))[0] / layout.cell_bytes)
        )
        assert segment >= 0
        assert found == allocation or seen.block_sizes[allocation] < 2 * layout.cell_bytes


def test_the_widgets_zoom_say_whose_a_band_is_and_show_the_moment_that_is_asked_for(worked):
    toy, seen = worked
    line = MemoryTimeline(seen)
    asked(line, "window", [100.4, 2000])
    assert (line.shown.moments[0], line.shown.moments[-1]) == (100, 500)
    row = int(np.flatnonzero(line.shown.chosen >= 0)[0])
    size = int(seen.allocations.size[line.shown.chosen[row]])
    assert f"({size:,} B)" in asked(line, "pick", row, 2)["picked"][0]
    assert asked(line, "pick", -1, 3)["picked"] == []
    columns, rows = line.state["columns"], line.state["rows"]
    assert len(line.data) == 4 * (3 * columns + 5 * rows + GROUPS * columns)

    segments = SegmentsMap(seen)
    for count, moment in enumerate((0, 250, 500), 1):
        assert asked(segments, "go", moment, count)["moment"] == moment
        assert segments.shown.reserved == sum(size for _, size in state_of(toy, moment)[1])
        rows, cells = segments.layout_of.shape
        assert len(segments.data) == 4 * (rows * cells + len(segments.shown.segments))
    assert "moments run from 0 to 500" in asked(segments, "go", 501, 9)["problem"]

    icicle = PeakIcicle(seen)
    at_peak = icicle.state["nodes"][0]["size"]
    assert asked(icicle, "go", 0)["nodes"][0]["size"] != at_peak


def test_every_view_leaves_a_picture_where_no_kernel_runs(tmp_path):
    seen = opened(some_work(steps=40), tmp_path)
    for widget in WIDGETS:
        bundle, _ = widget(seen)._repr_mimebundle_()
        png = base64.b64decode(bundle["image/png"])
        colours = Image.open(io.BytesIO(png)).convert("RGB").getcolors(1 << 24)
        assert len(colours) > 3 and len(png) < 60_000
        assert bundle["text/plain"].startswith("[widget] ")


NOTHING = {"segments": [], "device_traces": [[]]}
ONLY_HELD = {**pickle.loads(small_snapshot()), "device_traces": [[]]}


@pytest.mark.parametrize("content", [NOTHING, ONLY_HELD], ids=["nothing", "no trace"])
def test_a_snapshot_without_events_has_views_too(content):
    snapshot = loads(pickle.dumps(content), "few.pickle")
    seen = history(snapshot)
    for view in (*DRAWINGS, *WIDGETS):
        view(seen)
    assert seen.live[0] == sum(s.requested_size for s in snapshot.segments())
