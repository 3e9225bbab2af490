"""What looks wrong: each rule finds its own fault, and nothing in a healthy run."""

import pytest

from course_utils.core import files
from course_utils.memory.page.blocks import history_of_blocks
from course_utils.memory.page.findings import findings
from course_utils.memory.snapshots.snapshot import load
from tests.support import snapshot_pages as made
from tests.support.snapshots import REAL, real
from tests.support.toy_allocator import ToyAllocator

MIB = made.MIB
IN_REAL_FILES = {
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
    return {one.rule: one for one in findings(snapshot, history_of_blocks(snapshot, device))}


def renamed(toy, change):
    """The toy's snapshot, each event's and block's frames changed."""
    content = toy.snapshot()
    for one in [
        *content["device_traces"][0],
        *(b for s in content["segments"] for b in s["blocks"]),
    ]:
        one["frames"] = change(one["frames"])
    return content


def native(_frames):
    return [{"name": "at::_ops::empty::call", "filename": "??", "line": 0}]


@pytest.mark.parametrize("steps", [1, 2, 6, 40])
def test_in_healthy_steps_nothing_looks_wrong(steps):
    assert found(made.healthy(steps)) == {}


def test_a_line_that_holds_more_after_every_step_is_named_with_its_bytes():
    one = found(made.healthy(8, leaked_bytes=3 * MIB))["growth"]
    assert one.title == "update, update.py:14 holds more after every step"
    assert "about 3.00 MiB a step" in one.says and "from 3.00 MiB to 21.0 MiB" in one.says


@pytest.mark.parametrize("steps, leaked", [(8, 512), (3, 3 * MIB)], ids=["too little", "too short"])
def test_a_leak_too_small_or_too_short_to_tell_is_not_claimed(steps, leaked):
    assert "growth" not in found(made.healthy(steps, leaked))


def test_a_forward_pass_that_only_grows_is_no_leak():
    toy = ToyAllocator()
    for _ in range(40):
        toy.alloc(20 * MIB, "main", "forward")
        toy.free(toy.alloc(8 * MIB, "main", "forward"))
    assert "growth" not in found(toy)


def test_weights_renewed_in_place_of_the_old_are_no_leak():
    toy = ToyAllocator()
    old = [toy.alloc(20 * MIB, "main") for _ in range(12)]
    for address in old:
        toy.free(toy.alloc(60 * MIB, "main", "step"))
        toy.alloc(20 * MIB, "main", "update")
        toy.free(address)
    assert found(toy) == {}


def test_holes_at_the_peak_are_fragmentation_with_the_free_share_and_the_largest_piece():
    one = found(made.full_of_holes())["fragmentation"]
    assert "112.0 MiB of 400.0 MiB reserved (28%) lay free" in one.says
    assert "pieces of at most 14.0 MiB" in one.says
    assert one.title.startswith("28% ") and "expandable" in one.advice


def test_holes_of_a_sixth_are_no_fragmentation_yet():
    toy = made.full_of_holes(16)
    for _ in range(12):
        toy.alloc(14 * MIB, "main", "step")
    assert "fragmentation" not in found(toy)


def test_expandable_segments_are_not_advised_where_they_are_on():
    content = made.full_of_holes().snapshot()
    content["allocator_settings"] = {"expandable_segments": True}
    assert "expandable" not in found(content)["fragmentation"].advice
    full = made.out_of_memory(made.full_of_holes(), 100 * MIB, MIB).snapshot()
    assert "expandable" in found(full)["out of memory"].advice
    full["allocator_settings"] = {"expandable_segments": True}
    assert "expandable" not in found(full)["out of memory"].advice


@pytest.mark.parametrize(
    "size, left, fragmented",
    [(100, 1, True), (300, 1, False), (10, 1, False), (100, 120, False)],
    ids=["enough but in pieces", "too little in all", "a piece would do", "the device has it"],
)
def test_a_request_that_failed_is_fragmentation_only_where_enough_was_free(size, left, fragmented):
    toy = made.out_of_memory(made.full_of_holes(), size * MIB, left * MIB)
    one = found(toy)["out of memory"]
    assert ("fragmentation" in one.title) == fragmented
    assert ("expandable" in one.advice) == fragmented
    assert one.moment == len(toy.events)
    assert f"{size}.0 MiB were asked for while 208.0 MiB were allocated" in one.says
    assert "largest free block had 20.0 MiB" in one.says


def test_a_free_block_that_would_do_is_said_to_be_another_streams():
    toy = made.out_of_memory(made.full_of_holes(), 10 * MIB, MIB)
    assert "another stream or pool" in found(toy)["out of memory"].says
    toy = made.out_of_memory(made.full_of_holes(), 300 * MIB, MIB)
    assert "another stream or pool" not in found(toy)["out of memory"].says


def test_all_requests_that_failed_are_counted():
    toy = made.healthy()
    for _ in range(3):
        made.out_of_memory(toy, 10**9, 0)
    assert "2 more requests failed." in found(toy)["out of memory"].says


def test_a_cache_emptied_each_step_is_churn_with_its_counts():
    one = found(made.emptied_each_step(made.healthy(), 5))["churn"]
    assert "segments given back to the driver, 16 asked for afterwards" in one.title
    assert "empty_cache" in one.advice


def test_a_cache_emptied_once_at_the_end_is_no_churn():
    toy = made.healthy()
    toy.empty_cache()
    assert found(toy) == {}


def test_a_few_pieces_asked_for_again_are_no_churn():
    assert "churn" not in found(made.emptied_each_step(ToyAllocator(), 2))


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


def test_what_empty_cache_gave_back_is_counted_by_its_stacks():
    toy = made.emptied_each_step(made.healthy(), 5)
    assert "empty_cache() gave back" not in found(toy)["churn"].says
    gone = [event for event in toy.events if event["action"] == "segment_free"]
    for event in gone:
        event["frames"] = [{"name": "c10::cuda::emptyCache", "filename": "??", "line": 0}]
    says = found(toy)["churn"].says
    assert f"empty_cache() gave back {len(gone)}." in says and "retry" not in says


def test_a_trace_cut_off_in_front_says_what_was_there_before():
    one = found(made.healthy(), last=20)["beginning"]
    assert one.title == "The trace begins in the middle" and "max_entries" in one.advice
    assert "of 340 MiB, were there before its 20 events" in one.says


def test_events_that_contradict_the_end_are_said():
    content = made.healthy().snapshot()
    content["device_traces"][0].append(dict(content["device_traces"][0][1], addr=2**45))
    one = found(content)["beginning"]
    assert (
        one.title == "Events contradict the end of the trace" and "1 events contradict" in one.says
    )


def test_a_trace_that_ends_at_its_peak_says_so():
    toy = made.healthy(10)
    for _ in range(60):
        toy.alloc(20 * MIB, "main", "forward")
    one = found(toy)["climbing"]
    assert one.moment == len(toy.events) and "still held at the end" in one.says


def test_stacks_of_c_plus_plus_alone_are_said_but_not_a_backward_pass_among_python():
    assert "C++ stacks" in found(renamed(made.healthy(), native))
    backward = renamed(made.healthy(), lambda f: native(f) if len(f) == 3 else f)
    assert "C++ stacks" not in found(backward)


def test_blocks_without_a_stack_are_said_with_their_share():
    bare = renamed(made.healthy(), lambda f: [] if len(f) == 1 else f)
    assert found(bare)["no history"].title == "59% of the peak has no history"
    assert "200.0 MiB of 340.0 MiB at the peak" in found(bare)["no history"].says


def test_several_devices_are_said_and_judged_one_by_one():
    content = made.of_devices(made.healthy(), made.full_of_holes())
    assert list(found(content, device=0)) == ["devices"]
    second = found(content, device=1)
    assert {"fragmentation", "devices"} <= set(second)
    assert "of device 1 alone" in second["devices"].says


@real
def test_what_is_found_in_real_files(file):
    if not REAL:
        pytest.skip("the folder ../shared/snapshots isn't here")
    snapshot = load(file)
    assert [one.rule for one in findings(snapshot, history_of_blocks(snapshot))] == IN_REAL_FILES[
        file.stem
    ]


@pytest.mark.parametrize(
    "name, rules",
    [("leak", ["growth"]), ("fragmented", ["growth", "fragmentation"]), ("step_fp32", [])],
)
def test_what_is_found_in_the_chapters_own_snapshots(name, rules):
    snapshot = load(files.ROOT / "data" / "snapshots" / f"snapshot_{name}.pickle")
    assert [one.rule for one in findings(snapshot, history_of_blocks(snapshot))] == rules
