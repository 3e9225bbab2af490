"""The published step of DDP: its spans, its messages, and what its host launches."""

import numpy as np
import pytest

from course_utils.chapters.data_parallelism.published_step import (
    ddp_messages,
    ddp_spans,
    launches,
)
from course_utils.core.evidence import data, published
from course_utils.traces import intervals
from course_utils.traces.trace import Kind
from tests.support.traces import real


def test_the_published_step_has_its_host_its_kernels_and_five_messages():
    spans = ddp_spans()
    assert {span.row for span in spans} == {"host", "kernels", "NCCL"}
    assert [s.note for s in spans if s.label == "all_reduce"][:2] == ["8 MB", "32 MB"]
    assert all(span.seconds >= 0 for span in spans)
    host = {span.label: (round(span.start, 5), round(span.end, 5)) for span in spans[:3]}
    assert host == {
        "forward": (0.00068, 0.10378),
        "backward": (0.10381, 0.2049),
        "optimizer": (0.20494, 0.21969),
    }
    assert sum(span.row == "kernels" for span in spans) == 464


def test_the_published_step_is_resnet_50s_and_its_messages_are_all_its_gradients():
    rows = published("ddp_resnet50_nccl").rows
    for step in (1, 2, 3):
        sent = [r for r in rows if r["step"] == step and r["collective"] == "all_reduce"]
        assert sum(r["numbers"] for r in sent) == 25_557_032
        assert all(r["n_bytes"] == 4 * r["numbers"] for r in sent)
    assert all(0 <= r["beside_seconds"] <= r["seconds"] for r in rows)
    assert "MIT" in data("published/ddp_resnet50_nccl.json")["licence"]


def test_its_messages_and_launches_are_shown_with_their_units():
    assert len(ddp_messages()) == 5
    assert ddp_messages()[0] == {"message": "8.2 MB", "begins at": "107 ms", "takes": "2.5 ms"}
    assert list(launches().values()) == ["900", "237 µs", "43 µs", "13 µs"]


def test_its_launches_and_its_gaps_fill_the_step():
    for row in published("ddp_resnet50_kernels").rows:
        launching = row["launches"] * row["spacing_seconds"]
        assert launching == pytest.approx(row["seconds"], rel=0.05)
        assert row["kernels"] * row["kernel_seconds"] < 0.2 * row["seconds"]


@pytest.fixture
def traced():
    """The trace, and of each step the begin, the kernels launched in it, and NCCL's of these."""
    trace = real("ddp-resnet50-2xA100")
    kernels = np.flatnonzero(trace.kind == Kind.KERNEL)
    called = trace.start[trace.launch[kernels]]
    mine = [kernels[(called >= a) & (called < b)] for a, b in trace.steps.values()]
    sent = [own[trace.messages[own]] for own in mine]
    return trace, [start for start, _ in trace.steps.values()], mine, sent


def test_the_published_kernels_are_what_the_reader_gives_for_the_trace(traced):
    trace, _, mine, _ = traced
    found = []
    for (start, end), own in zip(trace.steps.values(), mine, strict=True):
        computing = own[~trace.messages[own]]
        spacing = np.diff(np.sort(trace.start[trace.launch[own]])).mean()
        took = trace.seconds[computing]
        waits = trace.start[computing] - trace.start[trace.launch[computing]]
        found.append([
            end - start, len(own), len(computing), spacing, took.mean(), np.median(took),
            np.median(waits), (took < spacing).mean(),
        ])  # fmt: skip
    told = [list(row.values())[1:] for row in published("ddp_resnet50_kernels").rows]
    np.testing.assert_allclose(found, told, rtol=4e-4)


def test_the_published_messages_are_what_the_reader_gives_for_the_trace(traced):
    trace, starts, _, sent = traced
    computed = trace.moments((trace.kind == Kind.KERNEL) & ~trace.messages)
    found = []
    for step, (start, own) in enumerate(zip(starts, sent, strict=True), 1):
        for place in own[np.argsort(trace.start[own])]:
            begin, end = trace.start[place], trace.end[place]
            beside = intervals.covered(computed, np.array([[begin, end]]))[0]
            found.append([step, trace.numbers[place], begin - start, end - begin, beside])
    columns = ("step", "numbers", "start_seconds", "seconds", "beside_seconds")
    told = [[row[column] for column in columns] for row in published("ddp_resnet50_nccl").rows]
    np.testing.assert_allclose(found, told, rtol=2e-4, atol=1e-9)
