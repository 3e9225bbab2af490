"""Finds the steps in a run's marks, and where the time of each went."""

import itertools
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from snapshots_and_traces.traces import intervals
from training_diagnosis.records import Mark, Seen

WARM = 3  # steps that are reported apart: first use, caches, finding the outermost modules
LEAST = 3  # steps after them, to say anything
REST = "everything else"
PARTS = (
    "waiting for data", "starting workers", "checkpoints", "validation", "compiling", "optimizer",
    "backward", "forward", "communicating", REST,
)  # fmt: skip
PART_OF = {  # the part of a mark, in the order in which they count: what lies inside of another
    "save": "checkpoints", "": "validation", "iter": "starting workers",  # counts once, and an
    "next": "waiting for data", "compile": "compiling", "backward": "backward",  # optimizer's
    "forward": "forward", "collective": "communicating", "step": "optimizer",  # closure has both
}  # fmt: skip
BY = {"step": "optimizer", "backward": "backward", "next": "batch"}
RARE = ("iter", "save", "compile", "gc")  # marks that make a step a kind of its own


@dataclass
class Step:
    """One step, from the end of the last mark to that of its own: marks, seconds by part."""

    begin: float
    end: float
    marks: list[Mark]
    parts: dict[str, float] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass
class Steps:
    """The steps of a run after the first, what ends each, and the first one's seconds."""

    steps: list[Step]
    by: str  # optimizer, backward, batch
    first_seconds: float
    training: set[str]  # loaders whose batches are trained on

    @property
    def times(self) -> list[float]:
        return [step.seconds for step in self.steps]

    def typical(self) -> float:
        """Seconds of a step: the median of each kind of step, weighted by how often it comes.

        One slow step moves it little; what comes with each checkpoint or epoch still counts.
        """
        kinds = defaultdict(list)
        for step in self.steps:
            kinds[step.kinds].append(step.seconds)
        return sum(len(k) * statistics.median(k) for k in kinds.values()) / len(self.steps)

    def part(self, name: str) -> float:
        """Mean seconds of a step in this part."""
        return statistics.fmean(step.parts[name] for step in self.steps)

    def count(self, kind: str) -> float:
        """Marks of this kind in a step, on average."""
        return sum(m.kind == kind for s in self.steps for m in s.marks) / len(self.steps)

    def synchronised(self, seen: Seen) -> float:
        """Backward passes of a step in which DDP sends gradients, on average."""
        forwards = sum(m.kind == "forward" and m.flag == 3 for m in seen.marks) or 1
        return self.count("backward") * float(seen.facts.get("synchronised", 0)) / forwards

    def of(self, kind: str) -> list[Mark]:
        return [mark for step in self.steps for mark in step.marks if mark.kind == kind]

    @property
    def whole(self) -> float:
        return statistics.fmean(self.times)


def find(seen: Seen) -> Steps | None:
    """The steps of a run, or None where too few are in its marks.

    A step ends with the rarest optimizer's step (the last to come first, of several as rare):
    so two optimizers of a GAN are one step, and accumulation is too. Without an optimizer, the
    line of `backward` takes its place, then the line that asks for a batch.
    """
    made = {mark.kind for mark in seen.marks}
    kind = next((kind for kind in BY if kind in made), "next")
    ends = _ends([mark for mark in seen.marks if mark.kind == kind], kind)
    if len(ends) < LEAST + 1:
        return None
    training = trained_on(seen.marks)
    warm = min(WARM, len(ends) - 1 - LEAST)
    spans = list(itertools.pairwise(ends))
    models = {mark.key for mark in seen.marks if mark.kind == "forward" and mark.flag == 3}
    steps = [_step(seen.marks, a.end, b.end, training, models) for a, b in spans][warm:]
    begin = seen.marks[0].begin
    return Steps(steps, BY[kind], ends[0].end - begin, training)


def _ends(marks: list[Mark], kind: str) -> list[Mark]:
    keys = [mark.key if kind == "step" else f"{mark.file}:{mark.line}" for mark in marks]
    counts = Counter(keys)
    often = max(counts.values(), default=0)
    counts = Counter({key: n for key, n in counts.items() if n > max(1, often // 20)})
    if not counts:
        return []
    least = min(counts.values())
    rarest = [key for key in dict.fromkeys(keys) if counts.get(key, 0) in (least, least + 1)]
    last = rarest[-1]
    return [mark for mark, key in zip(marks, keys, strict=True) if key == last]


def trained_on(marks: list[Mark]) -> set[str]:
    """Loaders whose batch is followed by a backward pass before the next batch."""
    found, last = set(), ""
    for mark in marks:
        if mark.kind == "next":
            last = mark.key
        elif mark.kind == "backward" and last:
            found.add(last)
    return found


def _step(
    marks: list[Mark], begin: float, end: float, training: set[str], models: set[str]
) -> Step:
    inside = [mark for mark in marks if begin <= mark.begin and mark.end <= end]
    step = Step(begin, end, inside)
    validated = validations(inside, training, models)
    taken, so_far = list[tuple[float, float]](), 0.0
    for kind, part in PART_OF.items():
        taken += [(m.begin, m.end) for m in inside if m.kind == kind] if kind else validated
        before, so_far = so_far, _length(taken)
        step.parts[part] = so_far - before
    step.parts[REST] = max(step.seconds - so_far, 0.0)
    rare = {m.kind for m in inside if m.kind in RARE and (m.kind != "gc" or m.flag == 2)}
    step.kinds = frozenset(rare | ({"validation"} if validated else set()))
    return step


def validations(
    marks: list[Mark], training: set[str], models: set[str]
) -> list[tuple[float, float]]:
    """Spans of consecutive marks that don't train, from the first to the last: batches of another
    loader, forwards without gradients or in evaluation mode. A forward whose result is trained on
    isn't one: a frozen encoder's, or the one right before a backward pass.
    """
    found, run = list[tuple[float, float]](), list[Mark]()
    for mark in [*marks, Mark("step", 0, 0)]:
        other = mark.kind in ("next", "iter") and bool(training) and mark.key not in training
        without = mark.kind == "forward" and mark.flag != 3
        if other or without:
            run.append(mark)
        elif mark.kind in ("next", "forward", "backward", "step"):
            own = models if mark.kind == "forward" else set[str]()
            while mark.kind in ("forward", "backward") and run and run[-1].kind == "forward":
                if run[-1].key in own:
                    break
                run.pop()
            if run:
                found.append((run[0].begin, run[-1].end))
            run = []
    return found


def _length(spans: list[tuple[float, float]]) -> float:
    return intervals.length(intervals.union(*np.reshape(spans, (-1, 2)).T))
