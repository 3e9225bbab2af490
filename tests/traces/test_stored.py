"""Traces kept as numbers: the same as what they were made from, and what they say of real GPUs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from course_utils.core import files
from course_utils.core.evidence import EvidenceError
from course_utils.traces import measures, published_trace
from course_utils.traces.cutting import cut
from course_utils.traces.idle import breakdown
from course_utils.traces.kernel_classes import seconds_by_class
from course_utils.traces.report import summary
from course_utils.traces.stored import ABOUT, PUBLISHED, store, stored_trace
from course_utils.traces.trace import Kind
from tests.support.traces import call, launched, note, op, read, real, span
from tools.published_traces import TRACES

FOLDER = files.DATA / PUBLISHED
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


def test_what_nests_or_touches_still_does_when_it_is_rounded(tmp_path, keep):
    events = [op("outer", 0, 10.14), op("inner", 3.33, 6.81), op("next", 10.14, 5.0)]
    found = keep(read(tmp_path, events))
    assert [one.seconds for one in measures.top_operators(found)] == pytest.approx(
        [6.8e-6, 5e-6, 3.3e-6], abs=1e-12
    )


def test_a_trace_without_its_source_is_not_stored(tmp_path):
    trace = read(tmp_path, [op("aten::mm", 0, 1)])
    with pytest.raises(ValueError, match="say source, licence of the trace"):
        store(trace, tmp_path / "kept.json", ABOUT_IT | {"source": "", "licence": None})


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


def test_an_unknown_name_brings_the_known_ones():
    with pytest.raises(EvidenceError, match="ddp_resnet50, dlrm, resnet_v100"):
        published_trace("resnet")


FIGURES = {  # kernels, ms from first to last, ms busy, ms of NCCL, % hidden, % idle, look first at
    "ddp_resnet50": (1800, 438.5, 106.5, 34.9, 16, 75, "the launches"),
    "resnet_v100": (1740, 193.4, 187.4, 0.0, 0, 2, "what takes longest"),
    "dlrm": (1428, 74.6, 62.6, 31.5, 54, 14, "the messages"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_published_steps_say_this(name):
    trace = published_trace(name)
    kernels, whole, busy, sent, hidden, idle, first = FIGURES[name]
    (gpu,), (begin, end) = trace.devices, trace.window(trace.devices[0])
    assert (trace.kind == Kind.KERNEL).sum() == kernels
    assert round(1e3 * (end - begin), 1) == whole
    assert round(1e3 * measures.busy(trace, gpu, (begin, end)), 1) == busy
    found = measures.communication(trace, gpu, (begin, end))
    assert round(1e3 * found.seconds, 1) == sent and round(100 * found.hidden_share) == hidden
    parts = breakdown(trace, gpu, (begin, end))
    waits = sum(parts[wait] for wait in ("data", "synchronising", "launching", "other"))
    assert round(100 * waits / (end - begin)) == idle
    assert summary(trace).splitlines()[-1].startswith(f"Look first at {first}")


def test_batch_norm_has_a_fifth_of_the_v100s_step_and_messages_their_lengths():
    by_class = seconds_by_class(published_trace("resnet_v100"), 0)
    assert round(100 * by_class["batch norm"] / sum(by_class.values())) == 18
    assert list(by_class)[:3] == ["convolution", "matrix product", "batch norm"]
    trace = published_trace("ddp_resnet50")
    assert trace.numbers[trace.messages].tolist()[:3] == [53_120, 53, 2_049_000]


def test_every_published_trace_says_whose_it_is_and_has_the_size_of_a_picture():
    paths = sorted(FOLDER.glob("*.json"))
    assert [path.stem for path in paths] == sorted(TRACES)
    for path in paths:
        found = published_trace(path.stem)
        assert all(found.about[what] for what in ABOUT) and path.stat().st_size < 200_000
        assert "MIT" in found.about["licence"] and found.about["how"].startswith("python -m")


@pytest.fixture(params=TRACES)
def both(request):
    """The published numbers, and the same steps of the file that they are from."""
    file, steps, *_ = TRACES[request.param]
    original = cut(real(file), [f"ProfilerStep#{number}" for number in steps])
    return published_trace(request.param), original


def test_the_numbers_are_those_of_the_original(both):
    stored, original = both
    assert rows(stored) == rows(rounded(original))
    assert summary(stored, by_step=True) == summary(rounded(original), by_step=True)


def test_rounding_moves_no_figure_by_more_than_a_few_microseconds(both):
    (gpu,) = both[0].devices
    one, other = (breakdown(trace, gpu, trace.window(gpu)) for trace in both)
    assert one == pytest.approx(other, abs=1e-5)
    one, other = (measures.communication(trace, gpu, trace.window(gpu)) for trace in both)
    assert (one.seconds, one.hidden) == pytest.approx((other.seconds, other.hidden), abs=2e-6)
    one, other = (measures.mean_queue(trace, gpu, trace.window(gpu)) for trace in both)
    assert one == pytest.approx(other, rel=1e-4)
    one, other = (seconds_by_class(trace, gpu) for trace in both)
    assert one == pytest.approx(other, abs=5e-6)


def rounded(trace):
    start, end = (np.rint(1e7 * (at - trace.start.min())) for at in (trace.start, trace.end))
    return replace(trace, start=start / 1e7, seconds=(end - start) / 1e7)
