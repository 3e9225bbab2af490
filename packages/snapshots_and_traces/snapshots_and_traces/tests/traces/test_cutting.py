"""Steps of a trace: what was called in them, what that launched, and nothing else."""

import numpy as np
import pytest

from snapshots_and_traces.tests.support.traces import LOADER, call, launched, note, op, read, real
from snapshots_and_traces.traces.cutting import cut
from snapshots_and_traces.traces.trace import Kind


@pytest.fixture
def three_steps(tmp_path):
    """The device is late: what step 1 launches runs during step 2."""
    return read(
        tmp_path,
        [
            *(note(f"ProfilerStep#{n}", 100 * n, 100) for n in (0, 1, 2)),
            *launched(7, 20, 110, 60, "first"),
            note(LOADER, 102, 8), op("aten::mm", 120, 30), *launched(8, 130, 210, 60, "second"),
            call("cudaGetDevice", 150, 1), call("cudaDeviceSynchronize", 160, 30),
            *launched(9, 220, 280, 40, "third"), op("aten::add", 215, 20),
        ],
    )  # fmt: skip


def said(trace):
    return [trace.names[place] for place in trace.name]


def test_a_step_has_what_its_calls_launched_whenever_it_ran(three_steps):
    found = cut(three_steps, ["ProfilerStep#1"])
    assert said(found) == [
        "ProfilerStep#1", LOADER, "aten::mm", "cudaLaunchKernel", "second",
        "cudaDeviceSynchronize",
    ]  # fmt: skip
    kernel = said(found).index("second")
    assert said(found)[found.launch[kernel]] == "cudaLaunchKernel"
    assert found.start[found.launch[kernel]] == pytest.approx(130e-6)
    assert list(found.steps) == ["ProfilerStep#1"]
    both = said(cut(three_steps, ["ProfilerStep#0", "ProfilerStep#2"]))
    assert {"first", "second", "third", "ProfilerStep#1"} <= set(both)
    assert "cudaGetDevice" not in both


@pytest.mark.parametrize("steps", [[], ["ProfilerStep#9"], ["ProfilerStep#1", "step 2"]])
def test_steps_that_are_not_there_are_refused_with_those_that_are(three_steps, steps):
    with pytest.raises(ValueError, match=r"name steps.*ProfilerStep#0, ProfilerStep#1, Pro"):
        cut(three_steps, steps)


def test_the_steps_of_a_real_trace_together_have_each_of_its_kernels_once():
    trace = real("ddp-resnet50-2xA100")
    each = [(cut(trace, [step]).kind == Kind.KERNEL).sum() for step in trace.steps]
    whole = cut(trace, list(trace.steps))
    kernels, all_kernels = whole.kind == Kind.KERNEL, trace.kind == Kind.KERNEL
    assert sum(each) == kernels.sum() == all_kernels.sum()
    assert np.array_equal(whole.seconds[kernels], trace.seconds[all_kernels])
