"""Rules for what can be wrong with a run: small functions with their thresholds and sources.

A rule gets the evidence of an unchanged pass and of the closer look, and returns what it saw with
the number that its threshold is compared with. Its changes are then tried one by one: the gain that
a finding prints was measured.
"""

import itertools
import linecache
import re
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from snapshots_and_traces.units import seconds_text, size_text
from training_diagnosis.records import NOWHERE, Line, Loader, Look, Mark, Seen, in_words
from training_diagnosis.steps import Steps

REGION_OF = {"everything else": "outside", "waiting for data": "data", "checkpoints": "save"}
MANY = 300  # operators of a step: fewer are no loop


@dataclass
class Evidence:
    """An unchanged pass, its steps, and the closer look."""

    seen: Seen
    steps: Steps
    look: Look
    environment: list[str] = field(default_factory=list)  # debugging variables that are set

    def share(self, part: str) -> float:
        return self.steps.part(part) / self.steps.whole

    def number(self, fact: str) -> int:
        return int(self.seen.facts.get(fact, 0))

    @property
    def cores(self) -> int:
        """Cores for each rank."""
        return max(self.number("cores") // (len(self.seen.ranks) or 1), 1)

    @property
    def cores_words(self) -> str:
        return f"{self.cores} cores" + " for each rank" * bool(self.seen.ranks)

    @property
    def gpu(self) -> bool:
        return "cuda" in self.seen.facts.get("devices", [])

    @property
    def loader(self) -> Loader | None:
        """The loader that most of the batches came from that are trained on."""
        keys = Counter(m.key for m in self.steps.of("next") if m.key in self.steps.training)
        return self.seen.loaders.get(max(keys, key=lambda key: keys[key], default=""))

    @property
    def loader_line(self) -> Line:
        made = self.loader
        return (made.file, made.line) if made else self.most_common("next")

    def most_common(self, kind: str, which: Callable[[Mark], bool] = bool) -> Line:
        """The line with most marks of a kind."""
        places = Counter(mark.place for mark in self.steps.of(kind) if which(mark))
        return max(places, key=lambda place: places[place], default=NOWHERE)

    def is_loss(self, line: Line) -> bool:
        """Whether this line computes what `backward` is called on: it can't leave the step."""
        text = linecache.getline(*line)
        assigned = re.match(r"\s*(\w+)\s*[+*/]?=(?!=)", text)
        called = {linecache.getline(*mark.place) for mark in self.steps.of("backward")}
        used = {word for one in called for word in re.findall(r"\w+", one)}
        return assigned is not None and assigned[1] in used and ".item()" not in text

    def where(self, *texts: str) -> Line:
        """The first line with the first of these texts: of the script, or of what trains."""
        main = str(self.seen.facts.get("main", ""))
        files = dict.fromkeys((main, *(m.file for m in self.seen.marks if m.file)))
        for text, file in itertools.product(texts, files):
            for number, line in enumerate(linecache.getlines(file), 1):
                if text in line and not line.lstrip().startswith("#"):
                    return file, number
        return NOWHERE


@dataclass
class Hit:
    """Evidence of a rule: the number that its threshold is compared with, words, the line, the
    changes to try, and the most that the cause can cost (a share of the step; 1 where that isn't
    known before it is tried).
    """

    value: float
    seen: str
    line: Line
    changes: list[str] = field(default_factory=list)
    most: float = 1.0
    memory: bool = False  # worth saying without a gain in time
    note: str = ""


Look_at = Callable[[Evidence], Hit | None]


@dataclass(frozen=True)
class Rule:
    """A rule: its threshold, where that comes from, the chapter, what to do, its function."""

    name: str
    above: float
    source: str
    chapter: str
    advice: str
    function: Look_at

    def look(self, evidence: Evidence) -> Hit | None:
        hit = self.function(evidence)
        return hit if hit and hit.value > self.above else None


RULES: list[Rule] = []


def rule(
    name: str, above: float, source: str, chapter: str, advice: str
) -> Callable[[Look_at], None]:
    """Adds a function to the table, with its threshold."""
    return lambda function: RULES.append(Rule(name, above, source, chapter, advice, function))


@rule(
    "slow-loader", 0.10, "TensorBoard's profiler plug-in: 5%; here 10% of a step", "05",
    "load ahead in worker processes, or do less for each sample",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    share, made = e.share("waiting for data"), e.loader
    if made is None:
        return None
    seen = f"{share:.0%} of a step waits for the next batch (num_workers={made.workers})"
    inside, _ = e.look.line("data")
    if made.workers == 0 and inside != NOWHERE:
        seen += f", most of it at {in_words(*inside)}"
    wanted = [f"workers:{n}" for n in sorted({1, e.cores}) if n > made.workers]
    return Hit(share, seen, e.loader_line, [*wanted, "first-batch"], share)


@rule(
    "too-many-workers", 1.0, "torch's own warning: more workers than cores", "05",
    "as many workers as there are cores to spare",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    workers = e.loader.workers if e.loader else 0
    said = f"{workers} workers on {e.cores_words}"
    return Hit(workers / e.cores, said, e.loader_line, [f"workers:{e.cores}", "workers:0"])


@rule(
    "workers-restart", 0.05, "open-mmlab/mmhuman3d #233: 7 minutes to 35 s an epoch", "05",
    "persistent_workers=True",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    waits = sorted(m.end - m.begin for m in e.steps.of("next"))
    if e.loader is None or not e.loader.workers or e.loader.persistent or not waits:
        return None
    usual, count = waits[len(waits) // 2], len(e.steps.steps)
    first, begun = 0.0, False
    for mark in (m for step in e.steps.steps for m in step.marks):
        begun |= mark.kind == "iter"
        if mark.kind == "next" and begun:
            first, begun = first + max(mark.end - mark.begin - usual, 0.0), False
    share = (e.steps.part("starting workers") + first / count) / e.steps.whole
    return Hit(
        share, f"each epoch starts its workers anew ({len(e.steps.of('iter'))} times in {count} "
        f"steps: {share:.0%} of the time)", e.loader_line, ["persistent"], share,
    )  # fmt: skip


@rule(
    "threads", 1.0, "transferable-samplers #12, pytorch #82219: more threads than cores", "05",
    "torch.set_num_threads, or OMP_NUM_THREADS: as many as there are cores",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    threads, line = e.number("threads"), e.where("set_num_threads")
    said = f"{threads} threads on {e.cores_words}"
    return None if e.gpu else Hit(threads / e.cores, said, line, [f"threads:{e.cores}"])


@rule(
    "few-threads", 1.9, "LUMI #110: torchrun sets OMP_NUM_THREADS=1 for several ranks", "12",
    "set OMP_NUM_THREADS before torchrun: cores divided by ranks",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    said = f"1 thread on {e.cores_words}"
    is_one = e.seen.ranks and e.number("threads") == 1 and not e.gpu
    return Hit(e.cores, said, NOWHERE, [f"threads:{e.cores}"]) if is_one else None


@rule(
    "anomaly", 0, "ignite #219, SynDiff #43: 1.5 h to 36 minutes", "03",
    "switch it off once the NaN is found",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    said = "anomaly detection is on in the backward pass"
    return Hit(e.number("anomaly"), said, e.where("detect_anomaly"), ["no-anomaly"])


@rule(
    "float64", 0.2, "half the vector width on a CPU, 2 to 64 times slower on GPUs", "06",
    "float32; it rounds differently, so check the result",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    share, line = e.look.float64_share, e.where("float64", ".double(", "torch.double")
    said = f"{share:.0%} of the bytes that operators write are float64"
    return Hit(share, said, line, ["float32"])


@rule(
    "padding", 0.25, "transformers #4842: 4.7 times; TextAttack #737: 3 h to 20 minutes", "05",
    "pad each batch to its own longest sequence, and batch by length",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    line = e.where("max_length")
    return Hit(
        e.look.padded_share, f"{e.look.padded_share:.0%} of the positions are padding "
        f"({e.look.padded_everywhere:.0%} behind the longest row of their batch)",
        line if line[1] else e.loader_line, ["trimmed"],
    )  # fmt: skip


@rule(
    "unused-gradients", 0.05, "a frozen part that isn't frozen: backward runs through it", "10",
    "requires_grad_(False) for them, or no_grad around their forward",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    unused, trained = e.look.unused_gradients, e.look.trained_parameters
    return None if not trained else Hit(
        unused / trained, f"{unused:,} parameters ({e.look.unused_parameters} tensors) get a "
        f"gradient, and no optimizer updates them; {trained:,} are updated",
        e.where("optim."), ["frozen"],
    )  # fmt: skip


@rule(
    "unused-forward", 0.5, "a metric computed by a second forward pass, with its graph", "03",
    "use the output that the loss was computed from, or torch.no_grad()",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    line = e.look.unused_forward
    took = sum(m.end - m.begin for m in e.steps.of("forward") if m.place == line and m.flag == 3)
    return None if not took else Hit(
        e.look.unused_forwards, "a forward pass builds a graph that no backward pass uses", line,
        most=took / sum(e.steps.times), note="the forward's own time",
    )  # fmt: skip


@rule(
    "per-sample", 0.5, "operators that repeat for each sample on the same parameters", "02",
    "call the module once, with the whole batch",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    share, gain = e.look.per_sample_share, e.look.per_sample_gain / e.steps.whole
    return Hit(
        share, f"{share:.0%} of the operators run once for each sample of the batch",
        e.look.per_sample, most=min(gain, 0.98) if gain else 1.0,
        note="measured on the module alone: forward and backward of the batch in one call"
        if gain else "how much depends on what else the loop does",
    )  # fmt: skip


@rule(
    "small-operators", 0.25, "starting operators on a few KiB takes a quarter of a step", "02",
    "fewer and larger operators: batch the loop, fuse, or torch.compile",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    small, each = e.look.small_operators, e.look.start_seconds
    share = min(small * each / e.steps.whole, 1.0)
    return None if e.gpu or small < MANY or e.look.per_sample_share else Hit(
        share, f"{small:,} of a step's {e.look.operators:,} operators work on less than 16 KiB: at "
        f"≈ {seconds_text(each)} each, starting them is {share:.0%} of the step or more",
        e.look.small_line, note="not known before it is rewritten",
    )  # fmt: skip


@rule(
    "checkpoint", 0.05, "checkpoint each step: 1.4 times here", "16",
    "save less often: every √(2 · save · time to failure)",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    share, saves = e.share("checkpoints"), len(e.steps.of("save"))
    said = f"{share:.0%} of the time writes checkpoints: {saves} in {len(e.steps.steps)} steps"
    return Hit(share, said, e.most_common("save"), ["no-save"], share)


@rule(
    "outside", 0.15, "Python between data, forward, backward and optimizer", "03",
    "move it out of the step, do it in a worker, or do it every 100 steps",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    share, (line, part) = e.share("everything else"), e.look.line("outside", e.is_loss)
    return None if line == NOWHERE else Hit(
        min(share, part), f"{share:.0%} of a step is outside of data, forward, backward and "
        f"optimizer, {part:.0%} of it at this line", line,
        most=share * part, note="this line's own time",
    )  # fmt: skip


@rule(
    "list-of-arrays", 0, "torch's own warning", "05", "np.stack first, then torch.from_numpy"
)  # fmt: skip
def _(e: Evidence) -> Hit:
    said = [w for w in e.seen.warned if "list of numpy.ndarrays" in w.text]
    return Hit(
        len(said), "torch.tensor gets a list of arrays and copies them number by number",
        (said[0].file, said[0].line) if said else NOWHERE, ["stack-arrays"],
    )  # fmt: skip


@rule(
    "validation", 0.15, "validation that takes a seventh of the time, or more", "03",
    "validate less often, or on fewer samples",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    share = e.share("validation")
    often = sum("validation" in step.kinds for step in e.steps.steps)
    return Hit(
        share, f"{share:.0%} of the time is validation, after {often} of {len(e.steps.steps)} "
        "steps", e.most_common("forward", lambda m: m.flag != 3), most=share,
        note="all of its time",
    )  # fmt: skip


@rule(
    "validation-graph", 0, "validation without no_grad keeps a graph", "09",
    "with torch.no_grad(): or torch.inference_mode():",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    trained = {m.key for m in e.steps.of("forward") if m.flag == 3}

    def keeps_graph(mark: Mark) -> bool:  # gradients on, evaluation mode
        return mark.flag == 1 and mark.key in trained

    return Hit(
        sum(map(keeps_graph, e.steps.of("forward"))),
        "the model runs in evaluation mode with gradients on: each forward keeps its graph",
        e.most_common("forward", keeps_graph), ["eval-no-grad"], e.share("validation"), memory=True,
    )  # fmt: skip


@rule(
    "kept-tensors", 64 * 1024, "bytes a step, in nearly every step", "09",
    "keep numbers: .item(), or .detach() and a copy on the CPU",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    grown = max(growth(e.seen, e.steps), e.look.kept_bytes)
    what = f"`{e.look.kept}` holds" if e.look.kept else "something holds"
    return None if not e.look.kept_bytes else Hit(
        grown, f"{what} tensors of earlier steps: memory grows by {size_text(grown)} a step",
        e.look.kept_line, memory=True,
    )  # fmt: skip


@rule(
    "garbage", 0.02, "torchtitan #148: gc.freeze, and collect at chosen steps", "03",
    "gc.collect(); gc.freeze() after the set-up",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    marks = e.steps.of("gc")
    share = sum(m.end - m.begin for m in marks) / sum(e.steps.times)
    return Hit(
        share, f"Python's garbage collector takes {share:.0%} of the time ({len(marks)} long "
        "collections)", NOWHERE, ["gc-freeze"], share,
    )  # fmt: skip


@rule(
    "recompiles", 1, "compilations after the third step", "04",
    "pad to a few shapes, mark_dynamic, or dynamic=True",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    times, share = len(e.steps.of("compile")), e.share("compiling")
    return Hit(
        times, f"torch.compile compiles again in the steady state: {times} times in "
        f"{len(e.steps.steps)} steps, {share:.0%} of the time",
        e.where("torch.compile"), ["dynamic"], share,
    )  # fmt: skip


@rule("optimizer", 0.10, "an update tensor by tensor", "10", "fused=True")
def _(e: Evidence) -> Hit | None:
    slow = [o.name for o in e.seen.optimizers.values() if o.can_fuse and not o.fused]
    share, line = e.share("optimizer"), e.most_common("step")
    said = f"{share:.0%} of a step updates parameters ({', '.join(slow[:1])}, not fused)"
    return Hit(share, said, line, ["fused"], share) if slow else None


@rule(
    "gradient-sync", 1.5, "accelerate's guide: 2.00 to 0.91 s on two nodes", "12",
    "with model.no_sync(): for all but the last",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    sent, backward = e.steps.synchronised(e.seen), e.steps.count("backward")
    said = f"{backward:.0f} backward passes for one update, and DDP sends gradients in {sent:.0f}"
    return Hit(sent, said, e.most_common("backward"), [f"no-sync:{round(backward)}"])


@rule(
    "slow-rank", 0.10, "msprof-analyze: 5% between ranks; here 10% of a step", "12",
    "give each rank as much to do, and see what that one does more of",
)  # fmt: skip
def _(e: Evidence) -> Hit | None:
    order = sorted((one for one in e.seen.ranks if one.parts), key=lambda one: one.own)
    if len(order) < 2:
        return None
    last, others = order[-1], order[:-1]
    longer = {
        part: seconds - statistics.median(one.parts.get(part, 0.0) for one in others)
        for part, seconds in last.parts.items() if part not in ("backward", "communicating")
    }  # fmt: skip
    share = (last.own - statistics.median(one.own for one in others)) / e.steps.whole
    part = max(longer, key=lambda part: longer[part])
    return Hit(
        share, f"rank {last.rank} works {share:.0%} of a step longer than the others, which wait "
        f"for it; most of that is {part}", last.lines.get(REGION_OF.get(part, part), NOWHERE),
        most=share, note="what it works longer",
    )  # fmt: skip


@rule(
    "environment", 0, "variables for debugging that cost time in every step", "02",
    "unset it for long runs",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    said = f"{', '.join(e.environment)} is set"
    return Hit(len(e.environment), said, NOWHERE, ["clean-environment"])


@rule(
    "profiler", 0.5, "a profiler that runs in more than half of the steps", "03",
    "a schedule of a few steps, or none",
)  # fmt: skip
def _(e: Evidence) -> Hit:
    share, line = e.number("profiler") / len(e.steps.steps), e.where("profile(")
    return Hit(share, "a profiler is on in nearly every step", line, ["no-profiler"])


def _traced(cause: str, e: Evidence) -> Hit | None:
    """Findings of the trace of some steps on a GPU; none if there was no trace."""
    found = next((one for one in e.look.traced if one.cause == cause), None)
    return None if found is None else Hit(
        found.share, f"{found.share:.0%} of the traced GPU time: {found.words}"
        + (f" ({found.where})" if found.where else ""), (found.file, found.line),
        most=min(found.share, 0.98),
        note="its share of four traced steps; a trace slows the host",
    )  # fmt: skip


for _cause, _name, _above, _source, _chapter, _advice in (
    ("synchronising", "gpu-waits", 0.10, "torchtune #522: 40 to 50 ms a step", "02",
     "read the value every 100 steps, or after the loop"),
    ("launching", "launch-bound", 0.15, "the GPU is idle, and the host in a launch", "04",
     "torch.compile, CUDA graphs, fused optimizers, larger batches"),
    ("python", "host-bound", 0.10, "the GPU is idle, and the host outside operators", "03",
     "move it out of the step, or into a worker"),
    ("copying", "copies", 0.10, "Nsight Systems' rule on pageable copies", "02",
     "pin_memory=True, then .to(device, non_blocking=True)"),
    ("allocating", "allocator", 0.10, "Hugging Face, torch_empty_cache_steps: 10% slower", "09",
     "no empty_cache() in the step; PYTORCH_ALLOC_CONF=expandable_segments:True"),
    ("communication", "exposed-communication", 0.10, "TensorBoard's profiler plug-in: 10%", "12",
     "start it earlier, in smaller buckets, or send less"),
    ("no tensor cores", "no-tensor-cores", 0.20, "TensorBoard's profiler plug-in", "07",
     "torch.autocast, or torch.set_float32_matmul_precision('high')"),
):  # fmt: skip
    rule(_name, _above, _source, _chapter, _advice)(partial(_traced, _cause))


def sizes_after_steps(seen: Seen, steps: Steps) -> list[float]:
    """Bytes after each step: those allocated on the GPU, else those of the process."""
    if any(seen.on_gpu):
        return seen.on_gpu[-len(steps.steps) :]
    return [size for at, size in seen.resident if at >= steps.steps[0].begin]


def growth(seen: Seen, steps: Steps) -> float:
    """Bytes a step by which memory grows: the medians of two quarters of the run compared."""
    sizes = sizes_after_steps(seen, steps)
    quarter = len(sizes) // 4
    if quarter < 2:
        return 0.0
    early, late = sorted(sizes[quarter : 2 * quarter]), sorted(sizes[-quarter:])
    steps_between = len(sizes) - 2.5 * quarter + quarter / 2
    return max((late[quarter // 2] - early[quarter // 2]) / steps_between, 0.0)
