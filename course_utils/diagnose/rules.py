"""What can be wrong with a run: each rule is a small function with its threshold and its source.

A rule gets the evidence of an unchanged pass and of the closer look, and returns what it saw, or
nothing. Its changes are then tried one by one: the gain that a finding prints was measured.
"""

import linecache
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from course_utils.core.measurement import format_seconds
from course_utils.diagnose.records import NOWHERE, Line, Look, Mark, Seen, in_words
from course_utils.diagnose.steps import Steps
from snapshots_and_traces.units import size_text

SMALL = 10e-6  # seconds of an operator, with what Python does for it


@dataclass
class Evidence:
    """An unchanged pass, its steps, and the closer look."""

    seen: Seen
    steps: Steps
    look: Look
    environment: list[str] = field(default_factory=list)  # debugging variables that are set

    def share(self, part: str) -> float:
        return self.steps.part(part) / self.steps.whole

    @property
    def cores(self) -> int:
        return int(self.seen.facts.get("cores", 1))

    @property
    def gpu(self) -> bool:
        return "cuda" in self.seen.facts.get("devices", [])


@dataclass
class Hit:
    """What a rule saw: words, the line, what to do, the changes to try, and the most that the
    cause can cost (a share of the step; 1 where that isn't known before it is tried).
    """

    seen: str
    line: Line
    advice: str
    changes: list[str] = field(default_factory=list)
    most: float = 1.0
    memory: bool = False  # worth saying without a gain in time
    note: str = ""


@dataclass(frozen=True)
class Rule:
    """A rule: the function, what it compares with, where that comes from, the chapter."""

    name: str
    look: Callable[[Evidence], Hit | None]
    above: float
    source: str
    chapter: str


RULES: list[Rule] = []


def rule(
    name: str, above: float, source: str, chapter: str
) -> Callable[[Callable[[Evidence, float], Hit | None]], None]:
    """Adds a function to the table; it is called with the evidence and its threshold."""

    def add(function: Callable[[Evidence, float], Hit | None]) -> None:
        RULES.append(Rule(name, lambda e: function(e, above), above, source, chapter))

    return add


def _most_common(marks: list[Mark]) -> Line:
    places = Counter(mark.place for mark in marks)
    return places.most_common(1)[0][0] if places else NOWHERE


def _training_loader(e: Evidence) -> str:
    waits: Counter[str] = Counter()
    for mark in e.steps.of("next"):
        if mark.key in e.steps.training:
            waits[mark.key] += 1
    return waits.most_common(1)[0][0] if waits else ""


def _loader_line(e: Evidence) -> Line:
    made = e.seen.loaders.get(_training_loader(e))
    return (made.file, made.line) if made else _most_common(e.steps.of("next"))


def _in_region(e: Evidence, region: str) -> tuple[Line, float]:
    """The reader's line that was seen most in a region, and its share of all samples there."""
    counts: Counter[Line] = Counter()
    for sample in e.look.samples:
        if sample.region == region and sample.file:
            counts[sample.file, sample.line] += sample.count
    whole = sum(counts.values())
    if not whole:
        return NOWHERE, 0.0
    line, count = counts.most_common(1)[0]
    return line, count / whole


@rule("slow-loader", 0.10, "TensorBoard's profiler plug-in: 5%; here 10% of a step", "05")
def _(e: Evidence, above: float) -> Hit | None:
    share, made = e.share("waiting for data"), e.seen.loaders.get(_training_loader(e))
    if share < above or made is None:
        return None
    seen = f"{share:.0%} of a step waits for the next batch (num_workers={made.workers})"
    if made.workers == 0:
        inside, _ = _in_region(e, "data")
        if inside != NOWHERE:
            seen += f", most of it at {in_words(*inside)}"
    wanted = [f"workers:{n}" for n in sorted({1, e.cores}) if n > made.workers]
    return Hit(
        seen, _loader_line(e), "load ahead in worker processes, or do less for each sample",
        [*wanted, "first-batch"], share,
    )  # fmt: skip


@rule("too-many-workers", 1.0, "torch's own warning: more workers than cores", "05")
def _(e: Evidence, above: float) -> Hit | None:
    made = e.seen.loaders.get(_training_loader(e))
    if made is None or made.workers <= above * e.cores:
        return None
    return Hit(
        f"{made.workers} workers on {e.cores} cores", _loader_line(e),
        "as many workers as there are cores to spare", [f"workers:{e.cores}", "workers:0"],
    )  # fmt: skip


@rule("workers-restart", 0.05, "open-mmlab/mmhuman3d #233: 7 minutes to 35 s an epoch", "05")
def _(e: Evidence, above: float) -> Hit | None:
    made = e.seen.loaders.get(_training_loader(e))
    if made is None or not made.workers or made.persistent:
        return None
    waits = sorted(m.end - m.begin for m in e.steps.of("next"))
    usual = waits[len(waits) // 2] if waits else 0.0
    first, begun = 0.0, False
    for mark in (m for step in e.steps.steps for m in step.marks):
        begun |= mark.kind == "iter"
        if mark.kind == "next" and begun:
            first, begun = first + max(mark.end - mark.begin - usual, 0.0), False
    took = (e.steps.part("starting workers") * len(e.steps.steps) + first) / len(e.steps.steps)
    if took < above * e.steps.whole:
        return None
    epochs = len(e.steps.of("iter"))
    return Hit(
        f"each epoch starts its workers anew ({epochs} times in {len(e.steps.steps)} steps: "
        f"{took / e.steps.whole:.0%} of the time)",
        _loader_line(e), "persistent_workers=True", ["persistent"], took / e.steps.whole,
    )  # fmt: skip


@rule("threads", 1.0, "transferable-samplers #12, pytorch #82219: more threads than cores", "05")
def _(e: Evidence, above: float) -> Hit | None:
    threads = int(e.seen.facts.get("threads", 1))
    if e.gpu or threads <= above * e.cores:
        return None
    return Hit(
        f"{threads} threads on {e.cores} cores", _where(e, "set_num_threads"),
        f"torch.set_num_threads({e.cores}) or OMP_NUM_THREADS={e.cores}", [f"threads:{e.cores}"],
    )  # fmt: skip


def _where(e: Evidence, text: str) -> Line:
    """The first line with this text, in the script or in the files and cells that train."""
    files = dict.fromkeys([str(e.seen.facts.get("main", "")), *(m.file for m in e.seen.marks)])
    for file in filter(None, files):
        for number, line in enumerate(linecache.getlines(file), 1):
            if text in line and not line.lstrip().startswith("#"):
                return file, number
    return NOWHERE


@rule("anomaly", 0.0, "ignite #219, SynDiff #43: 1.5 h to 36 minutes", "03")
def _(e: Evidence, above: float) -> Hit | None:
    if e.seen.facts.get("anomaly", 0) <= above:
        return None
    return Hit(
        "anomaly detection is on in the backward pass", _where(e, "detect_anomaly"),
        "switch it off once the NaN is found", ["no-anomaly"],
    )  # fmt: skip


@rule("float64", 0.2, "half the vector width on a CPU, 2 to 64 times slower on GPUs", "06")
def _(e: Evidence, above: float) -> Hit | None:
    if e.look.float64_share < above:
        return None
    line = next(
        (at for at in (_where(e, t) for t in ("float64", ".double(", "torch.double")) if at[1]),
        NOWHERE,
    )
    return Hit(
        f"{e.look.float64_share:.0%} of the bytes that operators write are float64", line,
        "float32; it rounds differently, so check the result", ["float32"],
    )  # fmt: skip


@rule("padding", 0.25, "transformers #4842: 4.7 times; TextAttack #737: 3 h to 20 minutes", "05")
def _(e: Evidence, above: float) -> Hit | None:
    if e.look.padded_share < above:
        return None
    line = _loader_line(e)
    collate = _where(e, "max_length")
    return Hit(
        f"{e.look.padded_share:.0%} of the positions are padding "
        f"({e.look.padded_everywhere:.0%} in every row of the batch)",
        collate if collate[1] else line,
        "pad each batch to its own longest sequence, and batch by length", ["trimmed"],
    )  # fmt: skip


@rule("unused-gradients", 0.05, "a frozen part that isn't frozen: backward runs through it", "10")
def _(e: Evidence, above: float) -> Hit | None:
    unused, trained = e.look.unused_gradients, e.look.trained_parameters
    if not trained or unused < above * trained:
        return None
    return Hit(
        f"{unused:,} parameters ({e.look.unused_parameters} tensors) get a gradient, and no "
        f"optimizer updates them; {trained:,} are updated",
        _where(e, "optim."), "requires_grad_(False) for them, or no_grad around their forward",
        ["frozen"],
    )  # fmt: skip


@rule("unused-forward", 0.5, "a metric computed by a second forward pass, with its graph", "03")
def _(e: Evidence, above: float) -> Hit | None:
    if e.look.unused_forwards < above:
        return None
    forwards = [
        m for m in e.steps.of("forward") if m.place == e.look.unused_forward and m.flag == 3
    ]  # fmt: skip
    took = sum(m.end - m.begin for m in forwards) / len(e.steps.steps)
    if not forwards:
        return None
    return Hit(
        "a forward pass builds a graph that no backward pass uses",
        e.look.unused_forward,
        "use the output that the loss was computed from, or torch.no_grad()",
        most=took / e.steps.whole,
        note="at most: the forward's own time",
    )


@rule("per-sample", 0.5, "operators that repeat for each sample on the same parameters", "02")
def _(e: Evidence, above: float) -> Hit | None:
    if e.look.per_sample_share < above:
        return None
    most = e.look.per_sample_gain / e.steps.whole if e.look.per_sample_gain else 1.0
    return Hit(
        f"{e.look.per_sample_share:.0%} of the operators run once for each sample of the batch",
        e.look.per_sample, "call the module once, with the whole batch", most=min(most, 0.98),
        note="measured on the module alone: forward and backward of the batch in one call"
        if e.look.per_sample_gain else "how much depends on what else the loop does",
    )  # fmt: skip


@rule("small-operators", 300, "operators of some µs each: Python and dispatch take the time", "02")
def _(e: Evidence, above: float) -> Hit | None:
    operators = e.look.operators
    if e.gpu or operators < above or e.steps.whole / operators > SMALL or e.look.per_sample_share:
        return None
    return Hit(
        f"a step is {operators:,} operators of {format_seconds(e.steps.whole / operators)} each: "
        "the CPU mostly starts operators", _most_common(e.steps.of("backward")),
        "fewer and larger operators: batch the loop, fuse, or torch.compile",
        note="not known before it is rewritten",
    )  # fmt: skip


@rule("checkpoint", 0.05, "checkpoint each step: 1.4 times here", "16")
def _(e: Evidence, above: float) -> Hit | None:
    if e.share("checkpoints") < above:
        return None
    saves, steps = len(e.steps.of("save")), len(e.steps.steps)
    return Hit(
        f"{e.share('checkpoints'):.0%} of the time writes checkpoints: {saves} in {steps} steps",
        _most_common(e.steps.of("save")), "save less often: every √(2 · save · time to failure)",
        ["no-save"], e.share("checkpoints"),
    )  # fmt: skip


@rule("outside", 0.15, "Python between data, forward, backward and optimizer", "03")
def _(e: Evidence, above: float) -> Hit | None:
    share, (line, part) = e.share("everything else"), _in_region(e, "outside")
    if share < above or part < above or line == NOWHERE:
        return None
    return Hit(
        f"{share:.0%} of a step is outside of data, forward, backward and optimizer, "
        f"{part:.0%} of it at this line",
        line, "move it out of the step, do it in a worker, or do it every 100 steps",
        most=share * part, note="at most: this line's own time",
    )  # fmt: skip


@rule("list-of-arrays", 0.0, "torch's own warning", "05")
def _(e: Evidence, above: float) -> Hit | None:
    said = [w for w in e.seen.warned if "list of numpy.ndarrays" in w.text]
    if len(said) <= above:
        return None
    return Hit(
        "torch.tensor gets a list of arrays and copies them number by number",
        (said[0].file, said[0].line), "np.stack first, then torch.from_numpy", ["stack-arrays"],
    )  # fmt: skip


@rule("validation", 0.15, "validation that takes a seventh of the time, or more", "03")
def _(e: Evidence, above: float) -> Hit | None:
    share = e.share("validation")
    often = sum("validation" in step.kinds for step in e.steps.steps)
    if share < above:
        return None
    marks = [m for m in e.steps.of("forward") if m.flag != 3]
    return Hit(
        f"{share:.0%} of the time is validation, after {often} of {len(e.steps.steps)} steps",
        _most_common(marks), "validate less often, or on fewer samples", most=share,
        note="at most: all of its time",
    )  # fmt: skip


@rule("validation-graph", 0.0, "validation without no_grad keeps a graph", "09")
def _(e: Evidence, above: float) -> Hit | None:
    marks = [m for m in e.steps.of("forward") if m.flag == 1]  # gradients on, evaluation mode
    trained = {m.key for m in e.steps.of("forward") if m.flag == 3}
    marks = [m for m in marks if m.key in trained]
    if len(marks) <= above:
        return None
    return Hit(
        "the model runs in evaluation mode with gradients on: each forward keeps its graph",
        _most_common(marks), "with torch.no_grad(): or torch.inference_mode():",
        ["eval-no-grad"], e.share("validation"), memory=True,
    )  # fmt: skip


@rule("kept-tensors", 64 * 1024, "bytes a step, in nearly every step", "09")
def _(e: Evidence, above: float) -> Hit | None:
    grown = max(growth(e.seen, e.steps), e.look.kept_bytes)
    if grown < above or not e.look.kept_bytes:
        return None
    what = f"`{e.look.kept}` holds" if e.look.kept else "something holds"
    return Hit(
        f"{what} tensors of earlier steps: memory grows by {size_text(grown)} a step",
        e.look.kept_line, "keep numbers: .item(), or .detach() and a copy on the CPU",
        memory=True,
    )  # fmt: skip


@rule("garbage", 0.02, "torchtitan #148: gc.freeze, and collect at chosen steps", "03")
def _(e: Evidence, above: float) -> Hit | None:
    marks = e.steps.of("gc")
    took = sum(m.end - m.begin for m in marks) / sum(e.steps.times)
    if took < above:
        return None
    return Hit(
        f"Python's garbage collector takes {took:.0%} of the time ({len(marks)} long collections)",
        NOWHERE, "gc.collect(); gc.freeze() after the set-up", ["gc-freeze"], took,
    )  # fmt: skip


@rule("recompiles", 1.0, "compilations after the third step", "04")
def _(e: Evidence, above: float) -> Hit | None:
    marks = e.steps.of("compile")
    if len(marks) <= above:
        return None
    return Hit(
        f"torch.compile compiles again in the steady state: {len(marks)} times in "
        f"{len(e.steps.steps)} steps, {e.share('compiling'):.0%} of the time",
        _where(e, "torch.compile"),
        "pad to a few shapes, mark_dynamic, or dynamic=True", ["dynamic"], e.share("compiling"),
    )  # fmt: skip


@rule("optimizer", 0.10, "an update tensor by tensor", "10")
def _(e: Evidence, above: float) -> Hit | None:
    slow = [o for o in e.seen.optimizers.values() if o.can_fuse and not o.fused]
    if e.share("optimizer") < above or not slow:
        return None
    return Hit(
        f"{e.share('optimizer'):.0%} of a step updates parameters ({slow[0].name}, not fused)",
        _most_common(e.steps.of("step")), "fused=True", ["fused"], e.share("optimizer"),
    )  # fmt: skip


@rule("gradient-sync", 1.5, "accelerate's guide: 2.00 to 0.91 s on two nodes", "12")
def _(e: Evidence, above: float) -> Hit | None:
    backward = e.steps.count("backward")
    if not e.seen.facts.get("ddp") or backward < above:
        return None
    return Hit(
        f"{backward:.0f} backward passes for one update, and DDP sends gradients in each",
        _most_common(e.steps.of("backward")), "with model.no_sync(): for all but the last",
        [f"no-sync:{round(backward)}"],
    )  # fmt: skip


@rule("environment", 0.0, "variables for debugging that cost time in every step", "02")
def _(e: Evidence, above: float) -> Hit | None:
    if len(e.environment) <= above:
        return None
    return Hit(
        f"{', '.join(e.environment)} is set", NOWHERE, "unset it for long runs",
        ["clean-environment"],
    )  # fmt: skip


@rule("profiler", 0.5, "a profiler that runs in more than half of the steps", "03")
def _(e: Evidence, above: float) -> Hit | None:
    if e.seen.facts.get("profiler", 0) < above * len(e.steps.steps):
        return None
    return Hit(
        "a profiler is on in nearly every step", _where(e, "profile("),
        "a schedule of a few steps, or none", ["no-profiler"],
    )  # fmt: skip


def growth(seen: Seen, steps: Steps) -> float:
    """Bytes a step by which memory grows: the medians of two quarters of the run compared."""
    begin = steps.steps[0].begin
    sizes = (
        seen.on_gpu[-len(steps.steps) :] if any(seen.on_gpu)
        else [size for at, size in seen.resident if at >= begin]
    )  # fmt: skip
    quarter = len(sizes) // 4
    if quarter < 2:
        return 0.0
    early, late = sorted(sizes[quarter : 2 * quarter]), sorted(sizes[-quarter:])
    steps_between = len(sizes) - 2.5 * quarter + quarter / 2
    return max((late[quarter // 2] - early[quarter // 2]) / steps_between, 0.0)
