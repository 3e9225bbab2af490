"""Two traces beside each other: what changed from the first to the second, largest first."""

from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.cutting import only
from snapshots_and_traces.traces.idle import breakdown
from snapshots_and_traces.traces.measures import Total
from snapshots_and_traces.traces.reading import TraceError
from snapshots_and_traces.traces.report import WORDS, short
from snapshots_and_traces.traces.trace import Kind, Trace
from snapshots_and_traces.units import seconds_text

TOP = 5
NONE = Total("", 0, 0.0)
LEAST = 0.005  # of the longer one's time: a smaller difference isn't said


@dataclass(frozen=True)
class _Side:
    """The figures of a trace to compare, per step where steps are compared."""

    trace: Trace
    device: int
    steps: int
    seconds: float
    parts: dict[str, float]
    kernels: list[Total]
    operators: list[Total]


def compare(a: Trace, b: Trace) -> str:
    """The lines on what changed from trace `a` to `b`, within a screen.

    They are per step where both have steps, from the first one's begin to the last one's end; else
    over the time from the first kernel to the last, without a GPU from the first operator. Kernels
    count where the steps launched them. Of several GPUs it is the busiest. What makes the traces
    hard to compare (GPUs, ranks, numbers of steps) is said first.
    Raises: TraceError where one has neither kernels nor operators.
    """
    by_step = bool(a.steps and b.steps)
    one, two = _side(a, by_step), _side(b, by_step)
    longer = max(one.seconds, two.seconds)
    lines = [*_differences(one, two), _time(one, two, by_step)]
    if (one.device < 0) == (two.device < 0):
        name = "the GPU's time" if one.device >= 0 else "the host's time"
        told = []
        for what in {**one.parts, **two.parts}:
            took = one.parts.get(what, 0.0), two.parts.get(what, 0.0)
            told.append((took[1] - took[0], f"{WORDS.get(what, what)}: {_from_to(*took)}"))
        lines += _largest(f"Parts of {name}", told, longer)
    lines += _largest("Kernels", _by_name(one, two, "kernels"), longer)
    lines += _largest("Operators, by their own time", _by_name(one, two, "operators"), longer)
    return "\n".join(lines)


def _side(trace: Trace, by_step: bool) -> _Side:
    device = measures.busiest(trace)
    if device < 0 and not (trace.kind == Kind.OPERATOR).any():
        raise TraceError("it has neither kernels nor operators: was it torch.profiler that traced?")
    steps = len(trace.steps) if by_step else 1
    window = trace.window(device) if by_step else trace.whole
    began = (trace.start >= window[0]) & (trace.start < window[1])
    inside = only(trace, np.where(trace.launch >= 0, began[trace.launch], began) | (not by_step))
    parts, operators = {}, measures.top_operators(inside)
    if device >= 0:
        parts = breakdown(trace, device, window)
    elif operators:
        parts = measures.host_breakdown(inside)
    parts = {what: took / steps for what, took in parts.items()}
    kernels = measures.top_kernels(inside, device) if device >= 0 else []
    seconds = (window[1] - window[0]) / steps
    return _Side(trace, device, steps, seconds, parts, kernels, operators)


def _differences(one: _Side, two: _Side) -> list[str]:
    """Reasons why the traces are hard to compare, a line each."""
    found = []
    gpus, ranks = ([name(side) for side in (one, two)] for name in (_gpu, _rank))
    for what, (old, new) in (("GPUs", gpus), ("ranks", ranks)):
        if old != new:
            found.append(f"Different {what}: {old}, then {new}.")
    steps = len(one.trace.steps), len(two.trace.steps)
    if steps[0] != steps[1]:
        found.append(f"Different numbers of steps: {steps[0]}, then {steps[1]}.")
    return found


def _gpu(side: _Side) -> str:
    gpus, device = side.trace.gpus, side.device
    named = short(gpus[device]) if 0 <= device < len(gpus) else "a GPU that isn't named"
    several = (
        f"{len(side.trace.devices)} with kernels, the busiest " if side.trace.devices[1:] else ""
    )
    return several + named if device >= 0 else "none"


def _rank(side: _Side) -> str:
    return "rank {} of {}".format(*side.trace.rank) if side.trace.rank else "no rank is given"


def _time(one: _Side, two: _Side, by_step: bool) -> str:
    change = two.seconds / (one.seconds or 1.0) - 1
    said = f"{_from_to(one.seconds, two.seconds)} ({round(change, 2) + 0.0:+.0%})"
    if not by_step:
        lacks = "one has no" if one.trace.steps or two.trace.steps else "neither has"
        return f"All of the traces, as {lacks} steps marked: {said}."
    took = [[b - a for a, b in side.trace.steps.values()] for side in (one, two)]
    spread = [f"{seconds_text(min(some))} to {seconds_text(max(some))}" for some in took]
    return f"Per step: {said}; steps took {spread[0]}, then {spread[1]}."


def _from_to(old: float, new: float) -> str:
    return f"{seconds_text(old)}, then {seconds_text(new)}"


def _by_name(one: _Side, two: _Side, what: str) -> list[tuple[float, str]]:
    """Each name with its difference in seconds, and how often it ran for how long, per step."""
    old, new = ({total.name: total for total in getattr(side, what)} for side in (one, two))
    found = []
    for name in {**old, **new}:
        a, b = old.get(name, NONE), new.get(name, NONE)
        counts = [f"{n / side.steps:,.4g}" for n, side in ((a.count, one), (b.count, two))]
        took = a.seconds / one.steps, b.seconds / two.steps
        if a.count and b.count:
            many = counts[0] if counts[0] == counts[1] else f"{counts[0]}, then {counts[1]}"
            said = f"{many} × {short(name)}: {_from_to(*took)}"
        else:
            said = f"{'gone' if a.count else 'new'}: {counts[b.count > 0]} × {short(name)}"
        found.append((took[1] - took[0], said))
    return found


def _largest(title: str, told: list[tuple[float, str]], longer: float) -> list[str]:
    """A title and the largest differences; names that came or went count however short."""
    some = [
        one for one in told if abs(one[0]) >= LEAST * longer or one[1].startswith(("new", "gone"))
    ]
    if not some:
        return [f"{title}: no difference of {LEAST:.1%} of the time."] if told else []
    most = sorted(some, key=lambda one: -abs(one[0]))[:TOP]
    lines = [
        f"  {('-' if took < 0 else '+') + seconds_text(abs(took)):>9}  {what}"
        for took, what in most
    ]
    of = (
        f"the {TOP} largest of {len(some)} differences"
        if some[TOP:]
        else "largest difference first"
    )
    return [f"{title}, {of}:", *lines]
