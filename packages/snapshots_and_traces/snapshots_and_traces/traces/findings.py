"""Finds the largest causes of a trace's time, what to do about each, and where."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.traces import intervals, measures
from snapshots_and_traces.traces.idle import GRAPH, WAITS, Idle, breakdown, idle_times
from snapshots_and_traces.traces.reading import TraceError
from snapshots_and_traces.traces.trace import ALLOCATING, AUTOGRAD, LOADER, RANKS, Kind, Trace
from snapshots_and_traces.units import seconds_text

MOST = 3  # findings
ABOVE = {  # shares of the time that make a cause worth a look
    "data": 0.1, "synchronising": 0.1, "allocating": 0.1, "loading": 0.1, "ranks": 0.1,
    "launching": 0.15, "communication": 0.1, "copying": 0.1, "other": 0.2,
}  # fmt: skip
ALSO = 0.05  # of those that come after the first
PYTHON = {True: 0.1, False: 0.4}  # a share of a GPU's time, of a host's
PAUSE = 0.1  # seconds: a step's own work rarely holds the host up for longer
KNOWN = 0.5  # the share of launches that a file must have to say why a device was idle
LOOKED_AT = 200  # of a cause's longest times, for where they are
LONGEST = "longest"  # nothing holds the device up: what it computed longest
UNKNOWN = "unknown"

WORDS = {
    "data": "the input: more workers, prefetch_factor, or less work for each sample",
    "synchronising": "the calls that wait for the GPU (.item(), .cpu()), and the host after",
    "allocating": "memory taken from the driver (cudaMalloc, cudaFree): see a memory snapshot; "
    "expandable_segments or less memory avoid it",
    "loading": "a kernel's first use, in one long call of the driver: trace some steps later",
    "ranks": "the other ranks, for which the host waits: which one is late?",
    "launching": "the launches: torch.compile, CUDA graphs, fused optimizers, larger batches",
}
COPIES = {  # by the begin of a copy's name, in this order
    r"Memcpy HtoD.*Pageable": "the copies to the GPU from pageable memory: pin_memory=True, then "
    "non_blocking=True",
    r"Memcpy HtoD": "the copies to the GPU, pinned already: earlier, on a stream of their own, or "
    "fewer bytes",
    r"Memcpy DtoH": "the copies to the host: fewer, smaller or later",
    r"Memset": "memory set to a value: zeros() and zero_grad(set_to_none=False)",
    r"": "copies inside of the GPU: contiguous(), clone() and cat() make them",
}
COLLECTIVE = re.compile(r"(nccl|gloo|mpi):|(_?c10d\w*|symm_mem|vllm|_C_custom_ar)::")
BETWEEN = 1e-5  # seconds: from one kernel to the next
SHORT = "the gaps from kernel to kernel, of some µs each: fewer, larger kernels or a CUDA graph"
STACKS = "the file doesn't say with what: with_stack=True or py-spy does"


@dataclass(frozen=True)
class Finding:
    """A cause by its name in `breakdown`; its seconds and their share of the time; what to do,
    and where in the run, as far as the file says.

    LONGEST is what a device computes longest where nothing holds it up, UNKNOWN idle time of which
    the file can't say why.
    """

    cause: str
    seconds: float
    share: float
    words: str
    where: str = ""


def findings(
    trace: Trace, device: int | None = None, parts: dict[str, float] | None = None,
    idle: Idle | None = None,
) -> list[Finding]:  # fmt: skip
    """The causes that take most of the time, at most three, the largest first.

    `device` is a GPU, -1 the host; without it, the busiest GPU. `parts` are its `breakdown`,
    `idle` its idle times.
    Raises: TraceError where the trace has neither kernels nor operators.
    """
    device = measures.busiest(trace) if device is None else device
    window = trace.window(device)
    if device < 0:
        if not (trace.kind == Kind.OPERATOR).any():
            raise TraceError(
                "it has neither kernels nor operators: was it torch.profiler that traced?"
            )
        parts = parts or measures.host_breakdown(trace)
        return _told(trace, device, window, parts, None)
    idle = idle or idle_times(trace, device, window)
    return _told(trace, device, window, parts or breakdown(trace, device, window, idle), idle)


def _told(
    trace: Trace, device: int, window: tuple[float, float], parts: dict[str, float],
    idle: Idle | None,
) -> list[Finding]:  # fmt: skip
    whole = sum(parts.values()) or 1.0
    lost = {what: took for what, took in parts.items() if what not in ("computing", "operators")}
    least = ABOVE | {"python": PYTHON[idle is not None]}
    order = sorted(lost, key=lambda what: -lost[what])
    holds = [what for what in order if lost[what] > least[what] * whole]
    if not holds and parts.get("computing", whole) < whole / 2:
        holds = order[:1]
    if not holds:
        return [_longest(trace, device, window, whole)]
    holds = [what for what in order if what in holds or lost[what] > ALSO * whole][:MOST]
    return [_finding(trace, device, what, lost[what], whole, idle) for what in holds]


def _longest(
    trace: Trace, device: int, window: tuple[float, float], whole: float
) -> Finding:  # fmt: skip
    tops = measures.top_kernels(trace, device) if device >= 0 else measures.top_operators(trace)
    return Finding(
        LONGEST, tops[0].seconds, tops[0].seconds / whole, "what takes longest", tops[0].name
    )


def _finding(
    trace: Trace, device: int, what: str, seconds: float, whole: float, idle: Idle | None
) -> Finding:
    words, where = WORDS.get(what, ""), ""
    if idle is None:
        where = _most(_at_host(trace, what))
        if what == "python":
            words = "Python between the operators: fewer and larger operators"
            words += "" if ".py(" in where else f", or {STACKS}"
    elif what == "communication":
        words, where = _communication(trace, device)
    elif what == "copying":
        words, where = _copying(trace, device)
    elif what == "other":
        return _unexplained(trace, device, seconds, whole, idle)
    else:
        where = _most(_places(trace, what, idle))
        if what == "python":
            words = "the host, busy outside operators" + ("" if ".py(" in where else f": {STACKS}")
        if what in ("python", "launching", "synchronising"):
            words = _pause(trace, what, seconds, whole, idle) or words
    return Finding(what, seconds, seconds / whole, words, where)


def _pause(trace: Trace, what: str, seconds: float, whole: float, idle: Idle) -> str:
    """Words for a cause that is one pause in the main."""
    took = float(idle.shares[:, WAITS.index(what)].max(initial=0.0))
    if took <= max(PAUSE, seconds / 2):
        return ""
    steps = "Trace some steps later" if len(trace.steps) < 2 else "Is it in every run?"
    said = "first use, compiling, a checkpoint"
    return f"one pause of {seconds_text(took)}, {took / whole:.0%} of the time: {said}? {steps}"


def _places(trace: Trace, what: str, idle: Idle) -> Iterable[tuple[str, float]]:
    """The places of a cause's idle times, each with its seconds."""
    host, took = trace.host, idle.shares[:, WAITS.index(what)]
    if what == "synchronising":
        memory = trace.named(ALLOCATING)
        for call, cost in idle.charged.items():
            if not memory[call]:  # what a cudaFree cost is the allocating's
                yield host.place(host.around(call)), cost
    longest = np.argsort(-took, kind="stable")[:LOOKED_AT]
    for gap in longest[took[longest] > 0].tolist():
        ended_by = int(idle.ended_by[gap])
        launch = int(trace.launch[ended_by]) if ended_by >= 0 else -1
        thread = int(trace.thread[launch]) if launch >= 0 else idle.thread
        if what == "launching":
            yield host.place(host.around(launch)), float(took[gap])
        elif thread in idle.does:
            for begin, end in intervals.within(idle.does[thread][what], *idle.spans[gap]).tolist():
                yield _place_at(trace, what, thread, begin, end), end - begin


def _place_at(trace: Trace, what: str, thread: int, begin: float, end: float) -> str:
    """The place of a thread, or of that of the steps, in the middle of a time; else after what."""
    host, rather = trace.host, {"data": LOADER, "ranks": RANKS}.get(what)
    for one in host.asked(thread)[:2]:
        if found := host.place(host.at(one, (begin + end) / 2), rather):
            return found
    last = host.before(thread, (begin + end) / 2)
    return f"after {trace.names[trace.name[last]]}" if last >= 0 else ""


def _at_host(trace: Trace, what: str) -> Iterator[tuple[str, float]]:
    """Places where the thread of the steps loaded data, or was in no operator, with seconds."""
    main = trace.host.main()
    if what == "data":
        for one in np.flatnonzero(trace.named(LOADER) & (trace.thread == main))[:LOOKED_AT]:
            yield trace.host.place(trace.host.around(int(one)), LOADER), float(trace.seconds[one])
        return
    gaps = measures.host_gaps(trace)
    longest = np.argsort(gaps[:, 0] - gaps[:, 1], kind="stable")[:LOOKED_AT]
    for begin, end in gaps[longest].tolist():
        yield _place_at(trace, what, main, begin, end), end - begin


def _exposed(trace: Trace, which: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """The seconds of events without those in which others ran."""
    spans = np.column_stack([trace.start[which], trace.end[which]])
    return trace.seconds[which] - intervals.covered(trace.moments(beside), spans)


def _communication(trace: Trace, device: int) -> tuple[str, str]:
    """Advice about communication that nothing hides, and which it is."""
    sent = np.flatnonzero(trace.on(device, Kind.KERNEL, Kind.COPY) & trace.messages)
    others = trace.on(device, Kind.KERNEL) & ~trace.messages
    took = _exposed(trace, sent, others)
    sums: dict[tuple[str, bool], float] = {}
    for one, seconds in zip(sent.tolist(), took.tolist(), strict=True):
        launch = int(trace.launch[one])
        names = [trace.names[trace.name[each]] for each in trace.host.around(launch)]
        said = next((name for name in names if COLLECTIVE.match(name)), "")
        key = said or trace.names[trace.name[one]], any(map(AUTOGRAD.match, names))
        sums[key] = sums.get(key, 0.0) + seconds
    most = max(sums.values(), default=0.0)
    where, backward = next((one for one, took in sums.items() if took == most), ("", False))
    share = f"{most / (sum(sums.values()) or 1.0):.0%} of the exposed time"
    if backward:
        says = "launched in the backward pass: start them earlier, smaller buckets, or send less"
    else:
        says = "not launched by autograd: start them before their result is needed"
    return f"the messages, {share} {says}", where


def _copying(trace: Trace, device: int) -> tuple[str, str]:
    """Advice about copies that no kernel hides, by the kind that takes most, and which."""
    copies = np.flatnonzero(trace.on(device, Kind.COPY) & ~trace.messages)
    took = _exposed(trace, copies, trace.on(device, Kind.KERNEL))
    sums = {kind: 0.0 for kind in COPIES}
    places: dict[str, list[tuple[str, float]]] = {kind: [] for kind in COPIES}
    for one, seconds in zip(copies.tolist(), took.tolist(), strict=True):
        name = trace.names[trace.name[one]]
        kind = next(kind for kind in COPIES if re.match(kind, name))
        sums[kind] += seconds
        said = trace.host.place(trace.host.around(int(trace.launch[one])))
        places[kind].append((said or name, seconds))
    kind = max(sums, key=lambda kind: sums[kind])
    return COPIES[kind], _most(places[kind])


def _unexplained(
    trace: Trace, device: int, seconds: float, whole: float, idle: Idle
) -> Finding:  # fmt: skip
    """Idle time that the host doesn't explain: what the file says of it, and what it can't."""
    ran = trace.on(device, Kind.KERNEL, Kind.COPY)
    known = float((trace.launch[ran] >= 0).mean())
    gaps = np.flatnonzero(idle.shares[:, -1] > 0)
    took, ended_by = idle.shares[gaps, -1], idle.ended_by[gaps]
    launch = np.where(ended_by >= 0, trace.launch[ended_by], -1)
    graph = (launch >= 0) & trace.named(GRAPH)[launch]
    cause, words = "other", "the timeline: launched in time, it waited for another stream or a copy"
    for which, said in (
        (np.full(len(gaps), known < KNOWN), f"it has the launch of only {known:.0%} of what ran"),
        (took < BETWEEN, ""),
        (launch < 0, "the launches that ended most of it aren't in the file"),
        (graph, "it is inside of CUDA graphs, of which the file may lack nodes"),
    ):
        if took[which].sum() > seconds / 2:
            cause = UNKNOWN if said else cause
            words = f"the idle time itself: why, the file can't say ({said})" if said else SHORT
            break
    last = int(ended_by[took.argmax()]) if len(gaps) else -1
    where = trace.names[trace.name[last]] if last >= 0 else ""
    return Finding(cause, seconds, seconds / whole, words, where)


def _most(places: Iterable[tuple[str, float]]) -> str:
    """The place with most seconds."""
    sums: dict[str, float] = {}
    for where, took in places:
        sums[where] = sums.get(where, 0.0) + took
    return max(sums, key=lambda where: sums[where], default="")
