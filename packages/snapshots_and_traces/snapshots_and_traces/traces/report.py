"""What a trace says, within a screen: what it is, where the time went, and where to look first."""

from dataclasses import dataclass

from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.idle import WAITS, breakdown, idle_times
from snapshots_and_traces.traces.reading import TraceError
from snapshots_and_traces.traces.trace import Kind, Trace
from snapshots_and_traces.units import seconds_text, shortened

WORDS = {
    "computing": "computing",
    "communication": "only communication",
    "copying": "only copies",
    "data": "waiting for a DataLoader",
    "synchronising": "idle after a synchronising call",
    "launching": "idle, launched too late",
    "other": "idle for another reason",
    "operators": "operators",
    "python": "neither: Python, or not traced",
}
LONGEST_NAME = 72  # characters
PAUSE = 0.1  # seconds: no launch takes as long
PAUSES = set(WAITS) - {"data"}  # a batch may take as long, step after step
TOP = 5
TOLD = 3  # kinds of events that were left out


@dataclass(frozen=True)
class Rule:
    """Look at `what` where it takes more than the share `above` of the time; `words` say where."""

    what: str
    above: float
    words: str


RULES = (  # of those that hold, the one with the largest share is said
    Rule("data", 0.1, "the input: more workers, prefetch_factor, or less work for each sample"),
    Rule(
        "synchronising",
        0.1,
        "the calls that wait for the GPU (.item(), .cpu()), and the host after",
    ),
    Rule("launching", 0.15, "the launches: torch.compile, CUDA graphs, foreach, larger batches"),
    Rule("communication", 0.1, "the messages: send them while the backward pass computes"),
    Rule("copying", 0.1, "the copies: pinned memory, non_blocking=True, or no copy at all"),
    Rule("other", 0.2, "the timeline: streams that wait for each other, launches it lacks"),
    Rule("python", 0.4, "Python between the operators: fewer and larger operators"),
)


def summary(trace: Trace, by_step: bool = False) -> str:
    """The lines for a trace; with `by_step` a line for each ProfilerStep too.

    Raises: TraceError where it has neither kernels nor operators.
    """
    lines, seen = [*about(trace)], overview(trace, busiest(trace))
    if trace.devices:
        lines += _gpu(trace, seen)
        others = [gpu for gpu in trace.devices if gpu != seen.device]
        lines += [ran_in_words(trace, other) for other in others]
        lines += _by_step(trace, seen.device) if by_step else []
        lines += ["Kernels by their time:", *_top(seen.tops)]
    else:
        lines += ["The host, from the first operator to the last:", *_parts(seen.parts)]
    if operators := measures.top_operators(trace):
        lines += ["Operators by their own time on the host:", *_top(operators)]
    if most := [f"{n / 1e6:.3g} MB allocated on {name}" for name, n in trace.allocated.items()]:
        lines += [f"Memory: at most {', '.join(sorted(most))}."]
    return "\n".join([*lines, f"Look first at {seen.look}."])


@dataclass(frozen=True)
class Overview:
    """Where the time of a GPU went, or of the host (`device` is -1): seconds by part of a window,
    names by their time, and where to look first.
    """

    device: int
    window: tuple[float, float]
    parts: dict[str, float]
    tops: list[measures.Total]
    look: str


def busiest(trace: Trace) -> int:
    """The GPU whose kernels ran for most seconds; -1 for a trace without."""
    return max(
        trace.devices, key=lambda gpu: measures.busy(trace, gpu, trace.window(gpu)), default=-1
    )


def overview(trace: Trace, device: int) -> Overview:
    """The overview of a GPU, or of the host where `device` is -1.

    Raises: TraceError where the trace has neither kernels nor operators.
    """
    if device >= 0:
        window = trace.window(device)
        parts, tops = breakdown(trace, device, window), measures.top_kernels(trace, device)
        pause = float(idle_times(trace, device, window).seconds.max(initial=0.0))
        return Overview(device, window, parts, tops, look_first(parts, tops, pause))
    if not (trace.kind == Kind.OPERATOR).any():
        raise TraceError("it has neither kernels nor operators: was it torch.profiler that traced?")
    parts, tops = measures.host_breakdown(trace), measures.top_operators(trace)
    return Overview(device, measures.host_window(trace), parts, tops, look_first(parts, tops))


def look_first(parts: dict[str, float], tops: list[measures.Total], pause: float = 0.0) -> str:
    """What RULES say to a breakdown in seconds; the longest kernel or operator if none holds.

    None needs to hold where less than half of the time is computing: the largest is said then. A
    `pause`, the longest idle time, that is most of an idle part comes before what that part says,
    unless a DataLoader was why.
    """
    whole = sum(parts.values()) or 1.0
    hold = [rule for rule in RULES if parts.get(rule.what, 0.0) > rule.above * whole]
    if not hold and parts.get("computing", whole) < whole / 2:
        hold = list(RULES)
    if hold:
        rule = max(hold, key=lambda rule: parts.get(rule.what, 0.0))
        if rule.what in PAUSES and pause > max(PAUSE, parts[rule.what] / 2):
            what = "first use, an allocation, compiling? Trace some steps later"
            return f"one pause of {seconds_text(pause)}, {pause / whole:.0%} of the time: {what}"
        return f"{rule.words} ({WORDS[rule.what]}: {parts[rule.what] / whole:.0%} of the time)"
    share = tops[0].seconds / (sum(total.seconds for total in tops) or 1.0)
    return f"what takes longest ({short(tops[0].name)}: {share:.0%} of what ran)"


def about(trace: Trace) -> list[str]:
    """A sentence on the machine, as far as the file says, and one on the steps."""
    gpus = [_gpu_name(trace, gpu) for gpu in trace.devices]
    none = f"without a kernel, though the file lists {len(trace.gpus)} GPUs"
    where = f"on {', '.join(gpus)}" if gpus else none if trace.gpus else "without a GPU"
    rank = " of rank {} of {}".format(*trace.rank) if trace.rank else ""
    took = seconds_text(float(trace.end.max() - trace.start.min()))
    first = f"{len(trace.start):,} events{rank}, {where}, in {took}."
    if trace.left_out:
        left = [f"{n:,} with {short(what)}" for what, n in trace.left_out.items()]
        more = f" and {len(left) - TOLD} more kinds" if len(left) > TOLD else ""
        first += f" Left out of all sums: {'; '.join(left[:TOLD])}{more}."
    return [first, _steps(trace)]


def _gpu_name(trace: Trace, device: int) -> str:
    known = device < len(trace.gpus)
    return f"GPU {device}" + (f" ({short(trace.gpus[device])})" if known else "")


def _steps(trace: Trace) -> str:
    if not trace.steps:
        return "No steps are marked in it: profiler.step() does."
    took = [end - start for start, end in trace.steps.values()]
    names = [short(name) for name in trace.steps]
    several = f"{len(took)} steps, {names[0]} to {names[-1]}" if took[1:] else f"1 step, {names[0]}"
    return f"{several}, of {seconds_text(min(took))} to {seconds_text(max(took))} on the host."


def _gpu(trace: Trace, seen: Overview) -> list[str]:
    sent, hidden = measures.communication(trace, seen.device, seen.window)
    waiting = measures.mean_queue(trace, seen.device, seen.window)
    beside = {
        "communication": f"{seconds_text(sent)} in all, {hidden / (sent or 1.0):.0%} hidden "
        "behind computing",
        "launching": f"{waiting:.1f} launches are waiting on average",
    }
    return [ran_in_words(trace, seen.device), *_parts(seen.parts, beside)]


def ran_in_words(trace: Trace, device: int) -> str:
    """How long a GPU's kernels ran, of the time from the first to the last."""
    window = trace.window(device)
    ran, whole = measures.busy(trace, device, window), window[1] - window[0]
    return (
        f"GPU {device}: kernels ran in {seconds_text(ran)} of the {seconds_text(whole)} "
        f"from the first to the last ({ran / (whole or 1.0):.0%})."
    )


def _by_step(trace: Trace, device: int) -> list[str]:
    """A line a step, shares of its time on the host; what it launched may run in the next one's."""
    found = ["By step, at its times on the host; a GPU may run later what it launched:"]
    for name, window in trace.steps.items():
        whole = window[1] - window[0] or 1.0
        parts = breakdown(trace, device, window).items()
        said = [f"{took / whole:.0%} {WORDS[what]}" for what, took in parts if took > whole / 100]
        found.append(f"  {short(name)}, {seconds_text(whole)}: {'; '.join(said)}")
    return found


def _parts(parts: dict[str, float], beside: dict[str, str] | None = None) -> list[str]:
    whole = sum(parts.values()) or 1.0
    return [
        f"  {seconds_text(took):>8} {took / whole:>4.0%}  {WORDS[what]}"
        + (f" ({beside[what]})" if beside and what in beside else "")
        for what, took in parts.items()
        if took > 1e-9
    ]


def _top(totals: list[measures.Total]) -> list[str]:
    return [
        f"  {seconds_text(one.seconds):>8}  {one.count:,} × {short(one.name)}"
        for one in totals[:TOP]
    ]


def short(name: str) -> str:
    """A name that fits a line of any terminal and does nothing else to it."""
    return shortened(printable(name.removeprefix("void ")), LONGEST_NAME)


def printable(name: str) -> str:
    """The first 999 letters of a stranger's name, without those that steer or turn what follows."""
    return "".join(c if c.isprintable() else " " for c in name[:999])
