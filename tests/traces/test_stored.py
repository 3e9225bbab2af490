"""Traces kept as numbers: the same as what they were made from, and what they say of real GPUs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from course_utils.core.evidence import EvidenceError
from course_utils.traces import published_trace
from course_utils.traces.stored import ABOUT, store, stored_trace
from snapshots_and_traces.tests.support.traces import call, launched, note, op, read, real, span
from snapshots_and_traces.traces.cutting import cut
from snapshots_and_traces.traces.idle import breakdown
from snapshots_and_traces.traces.report import summary
from snapshots_and_traces.traces.trace import Kind
from tools.published_traces import TRACES

ABOUT_IT = dict.fromkeys(ABOUT, "told")


@pytest.fixture
def keep(own_data):
    """Stores a trace and reads it again."""

    def kept(trace, **about):
        store(trace, own_data / "kept.json", ABOUT_IT | about)
        return stored_trace("kept.json")

    return kept


def rows(trace):
    """Every event as the words and numbers that a reader could ask for, in order of time."""
    whole = np.rint(1e7 * np.stack([trace.start - trace.start.min(), trace.seconds])).astype(int)
    said = [
        (
            *whole[:, i].tolist(), trace.names[trace.name[i]], Kind(trace.kind[i]).name,
            trace.threads[trace.thread[i]], int(trace.device[i]), int(trace.numbers[i]),
            whole[0, trace.launch[i]] if trace.launch[i] >= 0 else None,
        )
        for i in range(len(trace.start))
    ]  # fmt: skip
    return sorted(said, key=str)


def test_what_is_read_is_what_was_stored(tmp_path, keep):
    message = launched(3, 12, 15, 15.5, "ncclDevKernel_AllReduce", stream=9, device=1)
    message[1]["args"]["In msg nelems"] = 2_049_000
    events = [
        note("ProfilerStep#3", 0, 100), op("aten::mm", 1, 50.25), op("aten::empty", 1, 2),
        op("aten::mm", 5, 9, tid=2), *launched(1, 2, 10, 10), *message,
        *launched(2, 40, 75, 5, "Memcpy", cat="gpu_memcpy"), span("kernel", "nobody's", 90, 2),
        call("cudaDeviceSynchronize", 60, 30), span("odd", "außer ‘allem’ \x1b", 99.9, 0),
    ]  # fmt: skip
    trace = read(tmp_path, events, deviceProperties=[{"name": "A100"}],
                 distributedInfo={"rank": 1, "world_size": 2})  # fmt: skip
    found = keep(trace, date="2026-11-23")
    assert rows(found) == rows(trace)
    assert (found.gpus, found.rank, found.about["date"]) == (["A100"], (1, 2), "2026-11-23")
    assert found.steps.keys() == trace.steps.keys()


@pytest.mark.parametrize("damage", [
    lambda content: content.pop("lanes"),
    lambda content: content["lanes"][0].pop("took"),
    lambda content: content["lanes"][0]["took"].pop(),
    lambda content: content["names"].pop(),
    lambda content: content["lanes"][0].update(kind="colonel"),
])  # fmt: skip
def test_a_broken_file_says_how_to_get_it_back(tmp_path, own_data, keep, damage):
    keep(read(tmp_path, [op("aten::mm", 0, 1), op("aten::add", 3, 1)]))
    content = json.loads((own_data / "kept.json").read_text())
    damage(content)
    (own_data / "kept.json").write_text(json.dumps(content))
    with pytest.raises(EvidenceError, match=r"isn't a stored trace.*git checkout data/kept.json"):
        stored_trace("kept.json")


@pytest.mark.parametrize("name", TRACES)
def test_the_numbers_are_those_of_the_original_and_rounding_moves_no_figure(name):
    file, steps, *_ = TRACES[name]
    original = cut(real(file), [f"ProfilerStep#{number}" for number in steps])
    stored, to_100_ns = published_trace(name), rounded(original)
    assert rows(stored) == rows(to_100_ns)
    assert summary(stored, by_step=True) == summary(to_100_ns, by_step=True)
    (gpu,) = stored.devices
    one, other = (breakdown(trace, gpu, trace.window(gpu)) for trace in (stored, original))
    assert one == pytest.approx(other, abs=1e-5)


def rounded(trace):
    start, end = (np.rint(1e7 * (at - trace.start.min())) for at in (trace.start, trace.end))
    return replace(trace, start=start / 1e7, seconds=(end - start) / 1e7)
