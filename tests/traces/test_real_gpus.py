"""Real GPUs' traces, where the folder beside the course has them: what its README says."""

import pytest

from course_utils.traces import measures
from course_utils.traces.idle import breakdown
from course_utils.traces.trace import Kind
from tests.support.traces import real

FIGURES = {  # by file: GPU, steps, kernels, ms busy, ms from first to last, ms of NCCL, % hidden
    "ddp-resnet50-2xA100": (0, 3, 2700, 155, 661, 47, 16),
    "resnet-1xV100": (0, 5, 4350, 468, 480, 0, 0),
    "dlrm-8xA100": (3, 6, 8568, 369, 463, 164, 46),
    "alexnet-1xA100": (0, 0, 79, 11, 12840, 0, 0),
}


@pytest.fixture(params=FIGURES)
def known(request):
    return real(request.param), *FIGURES[request.param]


def test_the_readmes_figures_are_found(known):
    trace, gpu, steps, kernels, busy, whole, sent, hidden = known
    assert trace.devices == [gpu] and len(trace.steps) == steps
    assert (trace.kind == Kind.KERNEL).sum() == kernels
    window = trace.window(gpu)
    assert round(1e3 * measures.busy(trace, gpu, window)) == busy
    assert round(1e3 * (window[1] - window[0])) == whole
    found = measures.communication(trace, gpu, window)
    assert round(1e3 * found.seconds) == sent and round(100 * found.hidden_share) == hidden


def test_every_kernel_has_its_launch_and_none_begins_before_it(known):
    trace, gpu, *_ = known
    kernels = trace.kind == Kind.KERNEL
    assert (trace.launch[kernels] >= 0).all()
    called = trace.start[trace.launch[kernels]]
    assert (trace.start[kernels] >= called - 10e-6).all(), "but for the clocks' difference"
    assert measures.launch_queue(trace, gpu)[1].min() == 0


def test_every_moment_has_one_cause(known):
    trace, gpu, *_ = known
    window = trace.window(gpu)
    parts = breakdown(trace, gpu, window)
    assert sum(parts.values()) == pytest.approx(window[1] - window[0])
    assert all(took >= -1e-12 for took in parts.values())
    running = parts["computing"] + parts["communication"]
    assert running == pytest.approx(measures.busy(trace, gpu, window))
