"""Traces four steps of the closer look on a GPU, and reads from the trace why the GPU was idle."""

import os
import re
import sys
import tempfile
from typing import Any

from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.findings import findings
from snapshots_and_traces.traces.kernel_classes import seconds_by_class
from snapshots_and_traces.traces.reading import TraceError, read_trace
from snapshots_and_traces.traces.trace import FRAME, Kind, Trace
from training_diagnosis.records import NOWHERE, Line, Traced

STEPS = 4
TENSOR_CORES = re.compile(  # in the names of kernels that use them, of cuBLAS, cuDNN and CUTLASS
    r"884|1688|16816|hmma|gmma|i8816|tensorop|nvjet|tf32|[fh]p?16|flash|fmha", re.IGNORECASE
)
PRODUCTS = ("matrix product", "convolution")
MOST_ON_TENSOR_CORES = 0.05  # of the products' time: there are none


class Tracer:
    """Records the steps after step `begin` with torch.profiler; `read` is what they say."""

    def __init__(self, torch: Any, begin: int) -> None:
        self.torch, self.begin, self.end = torch, begin, begin + STEPS
        self.profiler: Any = None
        self.running = False

    def after_step(self, step: int) -> None:
        if step == self.begin and not self.torch.autograd._profiler_enabled():
            self.profiler = self.torch.profiler.profile(with_stack=True)
            self.profiler.start()
            self.running = True
        elif self.running and step == self.end:
            self.stop()
        elif self.running:
            self.profiler.step()

    def stop(self) -> None:
        if self.running:
            self.running = False
            self.profiler.stop()

    def read(self, script: str) -> list[Traced]:
        """The causes in the trace; none where the run ended before it began."""
        if self.profiler is None:
            return []
        with tempfile.TemporaryDirectory(prefix="diagnose-") as folder:
            file = os.path.join(folder, "trace.json")
            self.profiler.export_chrome_trace(file)
            try:
                return causes(read_trace(file), script)
            except TraceError:
                return []


def causes(trace: Trace, script: str = "") -> list[Traced]:
    """Causes that hold up the busiest GPU, the largest first, and whether it lacks tensor cores."""
    found = [
        Traced(one.cause, one.share, one.words, one.where, *_line(one.where, script))
        for one in findings(trace)
    ]
    device = measures.busiest(trace)
    products = sum(seconds_by_class(trace, device).get(kind, 0.0) for kind in PRODUCTS)
    begin, end = trace.window(device)
    kernels = trace.on(device, Kind.KERNEL) & trace.named(
        re.compile(rf".*({TENSOR_CORES.pattern})")
    )
    if products and trace.seconds[kernels].sum() < MOST_ON_TENSOR_CORES * products:
        words = "matrix products and convolutions whose kernels use no tensor cores"
        found.append(Traced("no tensor cores", products / (end - begin), words))
    return found


def _line(where: str, script: str) -> Line:
    """The file and the line of a function that a trace names without its folder; or NOWHERE."""
    if not FRAME.match(where):
        return NOWHERE
    file, _, rest = where.partition("(")
    paths = (os.path.join(folder, file) for folder in (os.path.dirname(script), *sys.path))
    return next(filter(os.path.isfile, paths), file), int(rest.partition(")")[0])
