"""Real GPUs' traces, where the folder beside the course has them: what its README says."""

import pytest

from snapshots_and_traces.tests.support.traces import real
from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.findings import findings
from snapshots_and_traces.traces.idle import breakdown
from snapshots_and_traces.traces.report import summary
from snapshots_and_traces.traces.trace import Kind

FIGURES = {  # GPU, steps, kernels, ms busy, ms from the first to the last, of NCCL, % hidden
    "ddp-resnet50-2xA100": (0, 3, 2700, 155, 661, 47, 16),
    "resnet-1xV100": (0, 5, 4350, 468, 480, 0, 0),
    "dlrm-8xA100": (3, 6, 8568, 369, 463, 164, 46),
    "alexnet-1xA100": (0, 0, 79, 11, 12840, 0, 0),
}
CAUSES = {  # what is to be looked at, and where
    "ddp-resnet50-2xA100": [
        ("launching", "aten::batch_norm"),
        ("communication", "nccl:all_reduce"),
    ],
    "resnet-1xV100": [("longest", "")],
    "dlrm-8xA100": [("communication", "nccl:all_to_all"), ("synchronising", "aten::to")],
    "alexnet-1xA100": [("loading", "aten::to"), ("allocating", "aten::conv2d")],
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_readmes_figures_are_found_and_every_moment_has_one_cause(name):
    trace = real(name)
    gpu, steps, kernels, busy, whole, sent, hidden = FIGURES[name]
    assert trace.devices == [gpu] and len(trace.steps) == steps
    ran = trace.kind == Kind.KERNEL
    assert ran.sum() == kernels and (trace.launch[ran] >= 0).all()
    called = trace.start[trace.launch[ran]]
    assert (trace.start[ran] >= called - 10e-6).all(), "but for the clocks' difference"
    assert measures.launch_queue(trace, gpu)[1].min() == 0
    window = trace.window(gpu)
    assert round(1e3 * measures.busy(trace, gpu, window)) == busy
    first, last = trace.start[ran].min(), trace.end[ran].max()
    assert round(1e3 * (last - first)) == whole and window[0] <= first and last <= window[1]
    took, beside = measures.communication(trace, gpu, window)
    assert round(1e3 * took) == sent and round(100 * beside / (took or 1)) == hidden
    parts = breakdown(trace, gpu, window)
    assert sum(parts.values()) == pytest.approx(window[1] - window[0])
    assert all(took >= -1e-12 for took in parts.values())
    running = parts["computing"] + parts["communication"]
    assert running == pytest.approx(measures.busy(trace, gpu, window))
    lines = summary(trace).splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 250
    assert [
        (one.cause, one.where if one.cause != "longest" else "") for one in findings(trace)
    ] == (CAUSES[name])
