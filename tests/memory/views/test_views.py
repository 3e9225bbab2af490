"""The views of a snapshot: every byte is in them, at every moment, in little time."""

import io
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from course_utils.memory.snapshots import safe_pickle
from course_utils.memory.snapshots.lives import BEFORE, history
from course_utils.memory.snapshots.snapshot import SnapshotError, load
from course_utils.memory.snapshots.stacks import Frame, path, who
from course_utils.memory.views.bands import GROUPS, bands, groups
from course_utils.memory.views.comparison import compare, draw_comparison
from course_utils.memory.views.peak_icicle import PeakIcicle, draw_peak, tree
from course_utils.memory.views.segments_map import MemoryMap, SegmentsMap, draw_segments
from course_utils.memory.views.timeline import MemoryTimeline, draw_timeline
from course_utils.memory.views.words import allocation_rows
from tests.memory.snapshots.test_safe_pickle import damaged, small_snapshot
from tests.memory.snapshots.test_snapshot import MIB, changed, real, some_work
from tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch

DRAWINGS = (draw_timeline, draw_segments, draw_peak)
WIDGETS = (MemoryTimeline, SegmentsMap, PeakIcicle)


def opened(toy: ToyAllocator, folder: Path, last: int | None = None):
    return history(load(toy.dump(folder / "toy.pickle", last)))


@pytest.fixture(params=[False, True], ids=["segments", "expandable"])
def worked(request, tmp_path):
    """A toy allocator after 400 actions, and the history of its last 500 events."""
    toy = some_work(request.param)
    toy.states.append(toy.held())
    return toy, opened(toy, tmp_path, last=500)


def state_of(toy: ToyAllocator, moment: int):
    return toy.states[len(toy.events) - 500 + moment]


def test_live_and_reserved_bytes_are_the_allocators_at_every_moment(worked):
    toy, seen = worked
    states = [state_of(toy, moment) for moment in range(501)]
    assert seen.live.tolist() == [sum(b[2] for b in blocks) for blocks, _ in states]
    assert seen.reserved.tolist() == [sum(n for _, n in ranges) for _, ranges in states]
    assert seen.live[seen.peak] == seen.live.max()


@real
def test_a_real_history_is_the_running_sum_of_its_events(file):
    if file is None:
        pytest.skip("the folder ../shared/snapshots isn't here")
    snapshot = load(file)
    seen, live, at = history(snapshot), 0, []
    for event in snapshot.trace().events():
        live += {"alloc": event.size, "free_completed": -event.size}.get(event.action, 0)
        at.append(live)
    np.testing.assert_array_equal(seen.live[1:] - seen.live[0], at)
    assert seen.reserved[-1] == sum(s.total_size for s in snapshot.segments())
    assert seen.live[-1] == sum(s.requested_size for s in snapshot.segments())
    assert (seen.live <= seen.reserved).all()


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


@pytest.mark.parametrize("seed", range(3))
def test_the_map_has_every_byte_and_the_largest_gap(worked, seed):
    toy, seen = worked
    layout = MemoryMap(seen, rows=7, cells=31)
    for moment in random.Random(seed).sample(range(501), 20):
        blocks, ranges = state_of(toy, moment)
        shown, gaps, whole = layout.at(moment), [0], 0
        for start, size in ranges:
            inside = [(a, n) for a, n, _, _ in blocks if start <= a < start + size]
            edges = [start, *(x for a, n in inside for x in (a, a + n)), start + size]
            gaps += [b - a for a, b in zip(edges[::2], edges[1::2], strict=True)]
            whole += 0 if inside or toy.expandable else size
        assert shown.reserved == sum(size for _, size in ranges)
        slack = sum(n - -(-asked // 512) * 512 for _, n, asked, _ in blocks)
        handed_out, _, could_go = shown.bytes_by_kind.values()
        assert handed_out == sum(n for _, n, _, _ in blocks) - slack
        assert toy.expandable or could_go == whole
        if not slack:
            assert shown.largest_free == max(gaps)
        assert len(shown.segments) == len(ranges)


def test_pointing_at_the_map_finds_what_lies_there(worked):
    _, seen = worked
    layout = MemoryMap(seen)
    for allocation in seen.allocations.at(seen.peak)[::5].tolist():
        address = seen.allocations.address[allocation] + seen.block_sizes[allocation] // 2
        cell = int(layout.place(np.array([address]))[0] / layout.cell_bytes - 0.5 + 0.5)
        segment, found = layout.find(seen.peak, cell)
        assert segment >= 0
        assert found == allocation or seen.block_sizes[allocation] < 2 * layout.cell_bytes


def test_the_peak_is_shared_out_among_call_stacks_to_the_last_byte(tmp_path):
    toy = ToyAllocator()
    toy.alloc(5 * MIB, "main")
    for _ in range(4):
        toy.alloc(3 * MIB, "main", "step", "forward")
    toy.alloc(2 * MIB, "main", "step", "backward")
    root = tree(opened(toy, tmp_path))
    (main,) = root.children.values()
    (step,) = main.children.values()
    sizes = {child.name: (child.size, child.count) for child in step.children.values()}
    assert (root.size, main.size, step.size) == (19 * MIB, 19 * MIB, 14 * MIB)
    assert sizes == {
        "forward, forward.py:12": (12 * MIB, 4),
        "backward, backward.py:13": (2 * MIB, 1),
    }
    places = [(node.name, depth, left) for node, depth, left in root.walk()]
    assert places[-1] == ("backward, backward.py:13", 3, 12 * MIB)


def test_stacks_without_python_name_the_backward_function_and_the_operator():
    native = ["c10::malloc()", "at::_ops::empty::call(x)", "at::_ops::sum_dim::call(x)",
              "torch::autograd::generated::MulBackward0::apply(x)", "__clone"]  # fmt: skip
    stack = tuple(Frame(name, "??", 0) for name in native)
    assert who(stack) == "backward, MulBackward0"
    assert path(stack) == ["backward, MulBackward0", "at::sum_dim"]
    own, library = Frame("fit", "/me/train.py", 3), Frame("step", "/x/site-packages/torch/a.py", 9)
    assert who((stack[0], library, own)) == "fit, train.py:3"
    assert path((*stack[:2], library, own)) == ["fit, train.py:3", "step, a.py:9", "at::empty"]


def test_the_table_tells_the_largest_from_those_never_freed(tmp_path):
    toy = ToyAllocator()
    toy.free(toy.alloc(50 * MIB, "main", "forward"))
    toy.alloc(3 * MIB, "main", "update")
    seen = opened(toy, tmp_path)
    assert [row["size"] for row in allocation_rows(seen)] == ["50.0 MiB", "3.00 MiB"]
    assert allocation_rows(seen)[0]["lives"] == "from event 2 to event 4, 0.020 ms"
    (kept,) = allocation_rows(seen, "never freed")
    assert kept["who asked"] == "update, update.py:14" and "never freed" in kept["lives"]
    with pytest.raises(ValueError, match="largest or never freed, not 'oldest'"):
        allocation_rows(seen, "oldest")


def test_what_was_there_before_the_trace_is_no_leak_of_it(tmp_path):
    toy = ToyAllocator()
    toy.alloc(50 * MIB, "main")
    toy.alloc(3 * MIB, "main", "update")
    seen = opened(toy, tmp_path, last=1)
    assert len(allocation_rows(seen, "never freed")) == 1
    assert seen.live.tolist() == [50 * MIB, 53 * MIB]
    assert seen.bytes_of_sites(0) == {"main, main.py:10": 50 * MIB}


def test_comparing_finds_the_leak(tmp_path):
    def trained(name: str, leaks: bool):
        toy = ToyAllocator()
        toy.alloc(20 * MIB, "main")
        for _ in range(6):
            kept, loss = toy.alloc(9 * MIB, "main", "forward"), toy.alloc(4 * MIB, "main", "step")
            toy.free(kept)
            if not leaks:
                toy.free(loss)
        return load(toy.dump(tmp_path / name))

    healthy, leaking = trained("healthy.pickle", False), trained("leaking.pickle", True)
    found = compare(healthy, leaking)
    (worst,) = found.grown()
    assert (worst.site, worst.end_a, worst.end_b) == ("step, step.py:11", 0, 24 * MIB)
    assert "at the end 20.0 MiB → 44.0 MiB" in str(found)
    assert "most grew step, step.py:11, by 20.0 MiB" in found._repr_html_()
    assert not compare(healthy, healthy).grown()
    assert is_drawn(draw_comparison(found, "What grew"))


def is_drawn(picture) -> bool:
    """A picture of several colours, with its message as text, small enough for a notebook."""
    image = Image.open(io.BytesIO(picture.png)).convert("RGB")
    return len(image.getcolors(1 << 24)) > 3 and len(picture.png) < 60_000 and bool(picture.alt)


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


def test_pages_without_end_are_an_error(tmp_path):
    def map_everything(content) -> None:
        content["device_traces"][0][0] |= {"action": "segment_map", "size": 2**62}

    file = changed(some_work(), tmp_path / "endless.pickle", map_everything)
    with pytest.raises(ValueError, match="more pages than any machine has"):
        history(load(file))


@pytest.mark.parametrize("widget", WIDGETS)
def test_a_widget_leaves_a_picture_where_no_kernel_runs(widget, worked):
    bundle, _ = widget(worked[1])._repr_mimebundle_()
    assert bundle["image/png"].startswith("iVBORw0KGgo")
    assert bundle["text/plain"].startswith("[widget] ")


def asked(widget, what: str, value, count: int = 1):
    widget.action = {"do": what, "with": value, "count": count}
    assert widget.state["answered"] == count
    return widget.state


def test_the_slider_of_the_map_shows_each_moment(worked):
    toy, seen = worked
    shown = SegmentsMap(seen)
    for count, moment in enumerate((0, 250, 500), 1):
        state = asked(shown, "go", moment, count)
        reserved = sum(size for _, size in state_of(toy, moment)[1])
        assert state["moment"] == moment and shown.shown.reserved == reserved
        rows, cells = shown.layout_of.shape
        assert len(shown.data) == 4 * (rows * cells + len(shown.shown.segments))
    assert "moments run from 0 to 500" in asked(shown, "go", 501, 9)["problem"]


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


def test_the_icicle_shows_the_moment_that_the_page_asks_for(worked):
    icicle = PeakIcicle(worked[1])
    at_peak = icicle.state["nodes"][0]["size"]
    assert asked(icicle, "go", 0)["nodes"][0]["size"] != at_peak


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
