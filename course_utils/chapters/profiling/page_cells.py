"""What the page's cells need besides the lesson: a file, sums, a clock, points of a curve."""

import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.core.evidence import Series, published
from course_utils.core.measurement import Measurement, format_ratio

if TYPE_CHECKING:
    from IPython.display import Markdown

_scratch: list[tempfile.TemporaryDirectory[str]] = []
POINTS = 300


def scratch_file(name: str) -> Path:
    """A path for a file that is gone when this kernel is."""
    if not _scratch:
        _scratch.append(tempfile.TemporaryDirectory())
    return Path(_scratch[0].name) / name


def own_times(events: Iterable[Any]) -> dict[str, float]:
    """Microseconds a step of each operator without those it calls, the longest first.

    Of a profiler's `events()`: in the step in which it took least, as another program may have
    disturbed one. On the GPU where kernels of any operator were seen, else on the host.
    """
    events = list(events)
    marks = [one for one in events if one.name.startswith("ProfilerStep")]
    steps = [one.time_range for one in marks if one.device_type.name == "CPU"]
    operators = [one for one in events if one.name.startswith("aten::")]
    on_gpu = any(one.self_device_time_total for one in operators)
    sums = {one.name: [0.0] * len(steps) for one in operators}
    for one in operators:
        took = one.self_device_time_total if on_gpu else one.self_cpu_time_total
        for at, step in enumerate(steps):
            sums[one.name][at] += took * (step.start <= one.time_range.start < step.end)
    least = {name: min(of_steps) for name, of_steps in sums.items()}
    return dict(sorted(least.items(), key=lambda one: -one[1]))


def curve(times: np.ndarray, values: np.ndarray, end: float) -> Series:
    """A curve that jumps to `values` at `times`, in seconds, up to `end`: at 300 points, in ms."""
    at = np.linspace(times[0], end, POINTS)
    levels = values[np.searchsorted(times, at, side="right") - 1]
    points = zip((1e3 * (at - times[0])).tolist(), levels.tolist(), strict=True)
    return Series.exact(dict(points))


def busy_core(fn: Callable[[], Any], repeat: int = 8, times: int = 5) -> float:
    """The share of the time of some calls in which a core worked for this process; 1 is one core.

    What `top` calls utilisation: processor time by the time on the wall. Of several times the one
    that other programs disturbed least.
    """
    return max(_busy_once(fn, repeat) for _ in range(times))


def _busy_once(fn: Callable[[], Any], repeat: int) -> float:
    wall, used = time.perf_counter(), time.process_time()
    for _ in range(repeat):
        fn()
    return (time.process_time() - used) / (time.perf_counter() - wall)


def half(measured: Measurement) -> str:
    """Between which values the middle half of the repetitions lies, in words."""
    return f"{format_ratio(measured.q1)} to {format_ratio(measured.q3)}"


def mean_level(times: np.ndarray, values: np.ndarray, end: float) -> float:
    """The mean over time of what jumps to `values` at `times`, up to `end`."""
    edges = np.minimum(np.append(times, end), end)
    return float(np.average(values, weights=np.diff(edges)))


UNTRIED = {  # of PyTorch's Performance Tuning Guide: what keeps this machine from it
    "workers that load and pin": "chapters 2 and 5",
    "CUDA graphs": "a GPU; chapter 4",
    "cuDNN's autotuner": "a GPU, and convolutions",
    "tensors made on the device": "a GPU",
    "no synchronisations": "a GPU; chapter 2",
    "memory for the longest text first": "a GPU",
    "checkpointing": "memory that is short; chapter 10",
    "DistributedDataParallel, no_sync, balanced loads": "several GPUs; chapter 12",
    "NUMA's nodes": "two sockets",
    "jemalloc or tcmalloc, libiomp": "a library to preload",
    "oneDNN Graph": "TorchScript, which is on its way out",
}


def published_tips() -> Series:
    """What some of the guide's tips gained one GPT on an A100, each on top of those before."""
    ladder = published("gpt_steps_a100")
    rates = [(row["change"], row["tokens_per_s"]) for row in ladder.rows]
    rows = [
        {"tip": tip, "times": f"{now / before:.2f}"} for (_, before), (tip, now) in pairwise(rates)
    ]
    return Series.of_rows(rows, "published", ladder.provenance, source=ladder.source)


def untried_tips() -> Series:
    """The guide's tips that a processor alone can't try, and what each wants."""
    rows = [{"tip": tip, "times": f"wants {what}"} for tip, what in UNTRIED.items()]
    return Series.of_rows(
        rows, "published", "the guide's others: not tried, for want of what stands beside them"
    )


def as_printed(text: str) -> "Markdown":
    """A text as a terminal shows it: every space kept."""
    from IPython.display import Markdown

    return Markdown(f"```\n{text}\n```")
