"""What looks wrong: each rule finds its own fault, and nothing in a healthy run."""

import pytest

from snapshots_and_traces.snapshot_viewer.findings import findings
from snapshots_and_traces.snapshot_viewer.page import snapshot_page
from snapshots_and_traces.snapshots.lives import history
from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.tests.support import snapshot_pages as made
from snapshots_and_traces.tests.support.snapshots import MIB, real
from snapshots_and_traces.tests.support.toy_allocator import ToyAllocator

IN_REAL_FILES = {
    "snapshot_fragmented": ["growth", "fragmentation"],
    "snapshot_leak": ["growth"],
    "snapshot_step_amp": [],
    "snapshot_step_fp32": [],
    "allocator_fragmented": ["fragmentation", "churn", "beginning", "no history"],
    "allocator_growth": ["climbing", "beginning", "no history"],
    "allocator_release": ["churn", "beginning", "no history"],
    "cross_entropy_liger": [],
    "cross_entropy_vanilla": [],
    "transformer_forward_fp32": ["climbing", "beginning", "no history"],
    "transformer_forward_mixed": ["climbing", "beginning", "no history"],
    "transformer_medium_ctx128_train": ["beginning", "no history"],
}


def found(content, last=None, device=None):
    snapshot = made.read(content, last)
    return {one.rule: one for one in findings(snapshot, history(snapshot, device))}


@real
def test_what_is_found_in_real_files(file):
    snapshot = load(file)
    assert [one.rule for one in findings(snapshot, history(snapshot))] == IN_REAL_FILES[file.stem]


def renewed() -> ToyAllocator:
    """Weights renewed in place of the old."""
    toy = ToyAllocator()
    old = [toy.alloc(20 * MIB, "main") for _ in range(12)]
    for address in old:
        toy.free(toy.alloc(60 * MIB, "main", "step"))
        toy.alloc(20 * MIB, "main", "update")
        toy.free(address)
    return toy


def emptied_at_the_end() -> ToyAllocator:
    toy = made.healthy()
    toy.empty_cache()
    return toy


def only_growing() -> ToyAllocator:
    """A forward pass that goes on, with what it frees between."""
    toy = ToyAllocator()
    for _ in range(40):
        toy.alloc(20 * MIB, "main", "forward")
        toy.free(toy.alloc(8 * MIB, "main", "forward"))
    return toy


def a_sixth_of_holes() -> ToyAllocator:
    toy = made.full_of_holes(16)
    for _ in range(12):
        toy.alloc(14 * MIB, "main", "step")
    return toy


@pytest.mark.parametrize(
    "toy, quiet",
    [
        (made.healthy(1), "all"),
        (made.healthy(40), "all"),
        (renewed(), "all"),
        (emptied_at_the_end(), "all"),
        (made.healthy(8, 512), "growth"),
        (made.healthy(3, 3 * MIB), "growth"),
        (only_growing(), "growth"),
        (a_sixth_of_holes(), "fragmentation"),
        (made.emptied_each_step(ToyAllocator(), 2), "churn"),
    ],
    ids=[
        "one step", "many steps", "renewed weights", "emptied at the end", "a leak of 512 bytes",
        "a leak in three steps", "a forward pass alone", "a sixth of holes", "a few pieces again",
    ],
)  # fmt: skip
def test_what_every_healthy_run_does_is_not_called_wrong(toy, quiet):
    said = found(toy)
    assert said == {} if quiet == "all" else quiet not in said


def test_a_line_that_holds_more_after_every_step_is_named_with_its_bytes():
    one = found(made.healthy(8, leaked_bytes=3 * MIB))["growth"]
    assert one.title == "update, update.py:14 holds more after every step"
    assert "about 3.00 MiB a step" in one.says and "from 3.00 MiB to 21.0 MiB" in one.says


def test_holes_at_the_peak_are_fragmentation_with_the_free_share_and_the_largest_piece():
    content = made.full_of_holes().snapshot()
    one = found(content)["fragmentation"]
    assert "112.0 MiB of 400.0 MiB reserved (28%) lay free" in one.says
    assert "pieces of at most 14.0 MiB" in one.says
    assert one.title.startswith("28% ") and "expandable" in one.advice
    content["allocator_settings"] = {"expandable_segments": True}
    assert "expandable" not in found(content)["fragmentation"].advice


@pytest.mark.parametrize(
    "size, left, fragmented, others",
    [(100, 1, True, False), (300, 1, False, False), (10, 1, False, True), (100, 120, False, False)],
    ids=["enough but in pieces", "too little in all", "a piece would do", "the device has it"],
)
def test_a_request_that_failed_is_fragmentation_only_where_enough_was_free(
    size, left, fragmented, others
):
    toy = made.out_of_memory(made.full_of_holes(), size * MIB, left * MIB)
    one = found(toy)["out of memory"]
    assert ("fragmentation" in one.title) == ("expandable" in one.advice) == fragmented
    assert ("another stream or pool" in one.says) == others
    assert one.moment == len(toy.events)
    assert f"{size}.0 MiB were asked for while 208.0 MiB were allocated" in one.says
    assert "largest free block had 20.0 MiB" in one.says
    again = made.out_of_memory(made.out_of_memory(toy, 10**9, 0), 10**9, 0)
    assert "2 more requests failed." in found(again)["out of memory"].says


def test_a_cache_emptied_each_step_is_churn_with_its_counts():
    toy = made.emptied_each_step(made.healthy(), 5)
    one = found(toy)["churn"]
    assert "segments given back to the driver, 16 asked for afterwards" in one.title
    assert "empty_cache" in one.advice and "empty_cache() gave back" not in one.says
    gone = [event for event in toy.events if event["action"] == "segment_free"]
    for event in gone:
        event["frames"] = [{"name": "c10::cuda::emptyCache", "filename": "??", "line": 0}]
    says = found(toy)["churn"].says
    assert f"empty_cache() gave back {len(gone)}." in says and "retry" not in says


def test_requests_right_after_memory_is_given_back_are_counted_as_retries():
    toy = ToyAllocator()
    for size in (30, 40, 50, 60):
        toy.empty_cache()
        toy.free(toy.alloc(size * MIB, "main"))
    assert "3 times a request followed at once" in found(toy)["churn"].says
    for event in toy.events:
        if event["action"] == "segment_free":
            event["frames"] = [{"name": "empty_cache", "filename": "memory.py", "line": 1}]
    assert "churn" not in found(toy)


def test_a_trace_that_is_cut_off_contradicts_its_end_or_ends_at_its_peak_is_said():
    one = found(made.healthy(), last=20)["beginning"]
    assert one.title == "The trace begins in the middle" and "max_entries" in one.advice
    assert "of 340 MiB, were there before its 20 events" in one.says
    content = made.healthy().snapshot()
    content["device_traces"][0].append(dict(content["device_traces"][0][1], addr=2**45))
    one = found(content)["beginning"]
    assert one.title == "Events contradict the end of the trace"
    assert "1 events contradict" in one.says
    toy = made.healthy(10)
    for _ in range(60):
        toy.alloc(20 * MIB, "main", "forward")
    one = found(toy)["climbing"]
    assert one.moment == len(toy.events) and "still held at the end" in one.says


def test_more_allocated_than_reserved_is_said_to_be_impossible():
    content = made.healthy().snapshot()
    content["segments"] = []
    trace = content["device_traces"][0]
    content["device_traces"][0] = [e for e in trace if e["action"] != "segment_alloc"]
    assert "of 0 B reserved. No allocator does that" in repr(snapshot_page(content))


def renamed(change):
    """A healthy snapshot, each event's and block's frames changed."""
    content = made.healthy().snapshot()
    blocks = [b for segment in content["segments"] for b in segment["blocks"]]
    for one in [*content["device_traces"][0], *blocks]:
        one["frames"] = change(one["frames"])
    return content


def native(_frames):
    return [{"name": "at::_ops::empty::call", "filename": "??", "line": 0}]


def test_stacks_of_c_plus_plus_alone_and_blocks_without_a_stack_are_said():
    assert "C++ stacks" in found(renamed(native))
    backward = renamed(lambda frames: native(frames) if len(frames) == 3 else frames)
    assert "C++ stacks" not in found(backward)
    one = found(renamed(lambda frames: [] if len(frames) == 1 else frames))["no history"]
    assert one.title == "59% of the peak has no history"
    assert "200.0 MiB of 340.0 MiB at the peak" in one.says


def test_several_devices_are_judged_one_by_one():
    content = made.of_devices(made.healthy(), made.full_of_holes())
    assert found(content, device=0) == {}
    assert "fragmentation" in found(content, device=1)
