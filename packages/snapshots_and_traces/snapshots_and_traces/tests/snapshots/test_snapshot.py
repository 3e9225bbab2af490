"""Snapshots of every age are read as typed objects."""

import gc
import pickle

import pytest

from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.snapshots.rewind import rewind
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.tests.support.snapshots import changed, real, some_work

pytestmark = pytest.mark.without_torch


@real
def test_a_real_snapshot_agrees_with_its_own_sums(file):
    raw = {s["address"]: s for s in pickle.loads(file.read_bytes())["segments"]}
    segments = load(file).segments()
    assert len(segments) == len(raw)
    for s in segments:
        theirs = raw[s.address]
        assert (s.total_size, s.active_size) == (theirs["total_size"], theirs["active_size"])
        assert sum(b.size for b in s.blocks) == s.total_size


def drop(*names: str):
    """As an older torch writes: without these fields, wherever they were."""

    def walk(value) -> None:
        if isinstance(value, dict):
            for name in names:
                value.pop(name, None)
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, dict | list):
                walk(inner)

    return walk


@pytest.mark.parametrize("missing", [
    ("time_us",), ("allocator_settings",), ("external_annotations",), ("frames",), ("device",),
    ("segment_pool_id", "is_expandable"), ("requested_size",),
    ("time_us", "allocator_settings", "external_annotations", "segment_pool_id"),
])  # fmt: skip
def test_a_file_of_an_older_torch_lacks_fields_and_is_read(missing, tmp_path):
    toy = some_work()
    snapshot = load(changed(toy, tmp_path / "old.pickle", drop(*missing)))
    assert len(snapshot.trace()) == len(toy.events)
    assert rewind(snapshot).contradictions == 0
    first = snapshot.trace().event(0)
    assert first.time_us == (0 if "time_us" in missing else toy.events[0]["time_us"])


def test_a_newer_torch_writes_more_fields_and_what_the_device_had_free_at_an_oom(tmp_path):
    def add(content) -> None:
        for number, event in enumerate(content["device_traces"][0]):
            event |= {"pool_id": (0, number % 2), "compile_context": "0/0", "user_metadata": "x"}
            event["something_new"] = [{"a": (1, 2)}]
        content["device_traces"][0][3]["category"] = "gradient"
        content["device_traces"][0].append({**event, "action": "a_new_action"})
        oom = {"action": "oom", "device_free": 123, "size": 456, "stream": 0, "frames": []}
        content["device_traces"][0].append(oom)
        content["next_table"] = {"a": [1.5]}

    snapshot = load(changed(some_work(), tmp_path / "new.pickle", add))
    events = list(snapshot.trace().events())
    assert [e.pool for e in events[:3]] == [(0, 0), (0, 1), (0, 0)]
    assert events[3].category == "gradient"
    assert events[-2].action == "other"
    assert (events[-1].action, events[-1].addr, events[-1].size) == ("oom", 123, 456)


def test_several_devices_are_told_apart(tmp_path):
    def second(content) -> None:
        content["device_traces"] += [[], content["device_traces"][0][:4]]

    snapshot = load(changed(some_work(), tmp_path / "many.pickle", second))
    assert snapshot.devices == [0, 2]
    assert len(snapshot.trace(2)) == 4 and snapshot.segments(2) == []
    with pytest.raises(ValueError, match=r"devices \[0, 2\]: say which"):
        snapshot.trace()
    with pytest.raises(ValueError, match="nothing of device 1"):
        snapshot.segments(1)


def test_values_that_repeat_themselves_endlessly_are_never_spelled_out(tmp_path):
    endless: list = []
    for _ in range(60):
        endless = [endless, endless]

    def fill(content) -> None:
        names = ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size", "roundup_power2_divisions")
        content["allocator_settings"] = dict.fromkeys(names, endless)
        content["segments"][0]["blocks"][0]["state"] = endless
        content["device_traces"][0][0] |= {"category": endless, "user_metadata": endless}
        content["device_traces"][0][1]["frames"][0]["name"] = endless

    snapshot = load(changed(some_work(), tmp_path / "endless.pickle", fill))
    assert snapshot.trace().event(0).category == ""
    stack = snapshot.stacks[snapshot.trace().event(7).stack]
    assert [frame.name for frame in stack] == ["", "main"]
    assert rewind(snapshot).events == len(snapshot.trace())


WRONG = {
    "a list": lambda c: None,
    "no segments": lambda c: c.pop("segments"),
    "segments of text": lambda c: c.update(segments="none"),
    "a segment that is a number": lambda c: c["segments"].append(3),
    "a negative size": lambda c: c["device_traces"][0][0].update(size=-1),
    "an address over 2^63": lambda c: c["device_traces"][0][0].update(addr=2**64),
    "a block of half a byte": lambda c: c["segments"][0]["blocks"][0].update(size=0.5),
    "an event without an address": lambda c: c["device_traces"][0][0].pop("addr"),
    "frames of numbers": lambda c: c["device_traces"][0][0].update(frames=[1]),
    "frames that are text": lambda c: c["device_traces"][0][0].update(frames="main"),
    "a trace a thousand times": lambda c: c.update(device_traces=c["device_traces"] * 1000),
    "a thousand devices": lambda c: c.update(device_traces=[[] for _ in range(2000)]),
    "a pool of one number": lambda c: c["device_traces"][0][0].update(pool_id=(1,)),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_pickle_that_is_no_snapshot_is_refused_in_a_sentence(what, tmp_path):
    file = tmp_path / "wrong.pickle"
    if what == "a list":
        file.write_bytes(pickle.dumps([1, 2]))
    else:
        changed(some_work(), file, WRONG[what])
    with pytest.raises(SnapshotError, match=r"^wrong.pickle is refused: .*\.$"):
        load(file)
    assert gc.isenabled()  # it rests while a file is read
