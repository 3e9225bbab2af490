"""Reports on a trace within a screen: what it is, where the time went, and where to look first."""

from dataclasses import dataclass

from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.critical_path import path_in_words
from snapshots_and_traces.traces.findings import LONGEST, UNKNOWN, Finding, findings
from snapshots_and_traces.traces.idle import breakdown, idle_times
from snapshots_and_traces.traces.trace import Trace
from snapshots_and_traces.units import seconds_text, shortened

WORDS = {
    "computing": "computing",
    "communication": "only communication",
    "copying": "only copies",
    "data": "idle, waiting for a DataLoader",
    "ranks": "idle, the host waits for other ranks",
    "allocating": "idle, the driver allocates memory",
    "synchronising": "idle after a synchronising call",
    "loading": "idle in a long call of the driver",
    "python": "idle, the host outside operators",
    "launching": "idle, launched too late",
    "other": "idle for another reason",
    "operators": "operators",
}
ON_HOST = {"data": "waiting for a DataLoader", "python": "neither: Python, or not traced"}
LONGEST_NAME = 72  # characters
TOP = 5
TOLD = 3  # kinds of events that were left out


def summary(trace: Trace, by_step: bool = False) -> str:
    """The lines for a trace; with `by_step` a line for each ProfilerStep too.

    Raises: TraceError where it has neither kernels nor operators.
    """
    lines, seen = [*about(trace)], overview(trace, measures.busiest(trace))
    if trace.devices:
        lines += _gpu(trace, seen)
        others = [gpu for gpu in trace.devices if gpu != seen.device]
        lines += [ran_in_words(trace, other) for other in others]
        lines += _by_step(trace, seen.device) if by_step else []
        lines += ["Kernels by their time:", *_top(seen.tops)]
    else:
        steps = "in the steps" if trace.steps else "from the first event to the last"
        lines += [f"The host, {steps}:", *_parts(seen.parts, ON_HOST)]
    lines.append(path_in_words(trace, seen.device, seen.window))
    if operators := measures.top_operators(trace):
        lines += ["Operators by their own time on the host:", *_top(operators)]
    if most := [f"{n / 1e6:.3g} MB allocated on {name}" for name, n in trace.allocated.items()]:
        lines += [f"Memory: at most {', '.join(sorted(most))}."]
    for place, look in enumerate(seen.look):
        lines.append(f"{'Then' if place else 'Look first'} at {look}.")
    return "\n".join(lines)


@dataclass(frozen=True)
class Overview:
    """The time of a GPU, or of the host (`device` is -1): seconds by part of a window,
    names by their time, and what to look at first.
    """

    device: int
    window: tuple[float, float]
    parts: dict[str, float]
    tops: list[measures.Total]
    found: list[Finding]

    @property
    def look(self) -> list[str]:
        """The first causes to look at, a line each: what to do, its share, and where."""
        return [in_words(one, self.device) for one in self.found]


def overview(trace: Trace, device: int) -> Overview:
    """The overview of a GPU, or of the host where `device` is -1.

    Raises: TraceError where the trace has neither kernels nor operators.
    """
    window = trace.window(device)
    if device >= 0:
        idle = idle_times(trace, device, window)
        parts, tops = breakdown(trace, device, window, idle), measures.top_kernels(trace, device)
        return Overview(device, window, parts, tops, findings(trace, device, parts, idle))
    parts, tops = measures.host_breakdown(trace), measures.top_operators(trace)
    return Overview(device, window, parts, tops, findings(trace, device, parts))


def in_words(found: Finding, device: int = 0) -> str:
    """A finding in a line."""
    if found.cause == LONGEST:
        return f"{found.words} ({short(found.where)}: {found.share:.0%} of the time)"
    what = WORDS["other" if found.cause == UNKNOWN else found.cause]
    if device < 0:
        what = ON_HOST.get(found.cause, what)
    where = f", {short(found.where)}" if found.where else ""
    return f"{found.words} ({what}: {found.share:.0%} of the time{where})"


def about(trace: Trace) -> list[str]:
    """A sentence on the machine, as far as the file says, and one on the steps."""
    gpus = [_gpu_name(trace, gpu) for gpu in trace.devices]
    none = f"without a kernel, though the file lists {len(trace.gpus)} GPUs"
    where = f"on {', '.join(gpus)}" if gpus else none if trace.gpus else "without a GPU"
    rank = " of rank {} of {}".format(*trace.rank) if trace.rank else ""
    took = seconds_text(float(trace.end.max() - trace.start.min()))
    first = f"{len(trace.start):,} events{rank}, {where}, in {took}."
    for what, n in trace.repaired.items():
        first += f" Repaired: {n:,} with {what}."
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
    names, least = [short(name) for name in trace.steps], seconds_text(min(took))
    if not took[1:]:
        return f"1 step, {names[0]}, of {least} on the host."
    several = f"{len(took)} steps, {names[0]} to {names[-1]}"
    return f"{several}, of {least} to {seconds_text(max(took))} on the host."


def _gpu(trace: Trace, seen: Overview) -> list[str]:
    sent, hidden = measures.communication(trace, seen.device, seen.window)
    mean, empty = measures.queue_in(trace, seen.device, seen.window)
    words = dict(WORDS)
    if sent:
        share = f"{hidden / sent:.0%} hidden behind computing"
        words["communication"] += f" ({seconds_text(sent)} in all, {share})"
    queue = f"Launched and not yet begun: {mean:.1f} on average, none in {empty:.0%} of the time."
    return [ran_in_words(trace, seen.device), *_parts(seen.parts, words), queue]


def ran_in_words(trace: Trace, device: int) -> str:
    """Says how long a GPU's kernels ran, of the time of the steps or of the whole capture."""
    window = trace.window(device)
    ran, whole = measures.busy(trace, device, window), window[1] - window[0]
    what = "of the steps" if trace.steps else "from the first event to the last"
    return (
        f"GPU {device}: kernels ran in {seconds_text(ran)} of the {seconds_text(whole)} {what} "
        f"({ran / (whole or 1.0):.0%})."
    )


def _by_step(trace: Trace, device: int) -> list[str]:
    """A line a step, shares of its time on the host; what it launched may run in the next one's."""
    if not trace.steps:
        return []
    found = ["By step, at its times on the host; a GPU may run later what it launched:"]
    for name, window in trace.steps.items():
        whole = window[1] - window[0] or 1.0
        parts = breakdown(trace, device, window).items()
        said = [f"{took / whole:.0%} {WORDS[what]}" for what, took in parts if took > whole / 100]
        found.append(f"  {short(name)}, {seconds_text(whole)}: {'; '.join(said)}")
    return found


def _parts(parts: dict[str, float], words: dict[str, str]) -> list[str]:
    whole = sum(parts.values()) or 1.0
    return [
        f"  {seconds_text(took):>8} {took / whole:>4.0%}  {words.get(what, WORDS[what])}"
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
