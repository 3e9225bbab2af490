"""From a script to a report: an unchanged pass, a closer look, then one pass for each change."""

import datetime
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from course_utils.diagnose import changes
from course_utils.diagnose.passes import DEBUGGING, ScriptError
from course_utils.diagnose.records import Finding, Gain, Look, Report, Seen, in_words
from course_utils.diagnose.rules import RULES, Evidence, Hit, Rule, growth
from course_utils.diagnose.steps import LEAST, PARTS, Steps, find

WORTH = 0.05  # of a step: a smaller gain is no finding
SPREAD = 0.5  # quartiles this far apart, relative to the median, say that times can't be compared
COMPUTING = ("forward", "backward", "optimizer")
NOISY = 0.25  # unchanged runs this far apart decide no gain
CHILDREN = 1.0  # seconds of CPU time in child processes, while this one doesn't train
BOUND = 0.6  # computing's share of a step that is bound by it


def _trains(seen: Seen) -> bool:
    return any(mark.kind == "backward" for mark in seen.marks)


class Runs(Protocol):
    """What can be run again: a script, or a function in a notebook."""

    path: str
    arguments: list[str]

    def run(self, change: str = "", look: bool = False) -> Seen: ...


@dataclass
class Budget:
    """Seconds that all passes may take together."""

    seconds: float
    begun: float = 0.0

    def left(self) -> float:
        return self.begun + self.seconds - time.monotonic()


def diagnose(
    script: Runs, minutes: float = 10.0, try_changes: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> Report:  # fmt: skip
    """The report on a script.

    The order: an unchanged pass, the closer look, a pass for each change that a rule wants tried,
    an unchanged pass again: by how much the unchanged ones differ is what a gain must exceed.
    Raises: ScriptError where the script fails by itself before it has made its steps.
    """
    budget = Budget(60 * minutes, time.monotonic())
    say("Running it unchanged")
    seen = script.run()
    steps = find(seen)
    elsewhere = float(seen.facts.get("children_cpu", 0.0)) > CHILDREN and not _trains(seen)
    if steps is None or elsewhere:
        return _without_steps(script, seen)
    typical = steps.typical()
    say(f"  {len(steps.steps)} steps of {typical * 1e3:.3g} ms. Looking closer")
    looked = script.run(look=True)
    look, looked_steps = looked.look or Look(), find(looked)
    environment = [name for name in DEBUGGING if os.environ.get(name) not in (None, "", "0")]
    evidence = Evidence(seen, steps, look, environment)
    hits = [(rule, hit) for rule in RULES if (hit := rule.look(evidence)) is not None]
    tried, untried = dict[str, tuple[Steps | None, Seen | None]](), list[str]()
    took = time.monotonic() - budget.begun
    for name in _to_try(hits) if try_changes else ():
        if budget.left() < took:  # two passes' worth: this one and the last, unchanged
            untried.append(name)
            continue
        say(f"  Again, with one change: {changes.in_words(name)}")
        tried[name] = _try(script, name)
    unchanged = [typical]
    if tried:
        say("  Again, unchanged: by how much do two runs differ?")
        again = find(script.run())
        unchanged += [again.typical()] if again else []
    before, noise = statistics.fmean(unchanged), _relative(unchanged)
    gains = {name: _gain(name, one, before, noise) for name, one in tried.items()}
    found = [_finding(rule, hit, gains, before, noise) for rule, hit in hits]
    report = _report(script, evidence, before, found, gains, noise)
    _verdict(report, noise)
    report.overhead["marks"] = len(seen.marks) * seen.hook_seconds / _time_of_marks(seen)
    if looked_steps:
        report.overhead["closer look"] = looked_steps.typical() / before - 1
    report.notes += [f"Not tried, for want of time: {changes.in_words(name)}" for name in untried]
    return report


def _to_try(hits: list[tuple[Rule, Hit]]) -> list[str]:
    """The changes of all rules, once each: those of the largest possible gain first."""
    order = sorted(hits, key=lambda one: -one[1].most)
    return list(dict.fromkeys(name for _, hit in order for name in hit.changes))


def _try(script: Runs, name: str) -> tuple[Steps | None, Seen | None]:
    try:
        seen = script.run(change=name)
    except ScriptError:
        return None, None
    return find(seen), seen


def _relative(values: list[float]) -> float:
    return max(values) / min(values) - 1 if min(values) > 0 else 0.0


def _gain(
    name: str, one: tuple[Steps | None, Seen | None], before: float, noise: float
) -> Gain | None:
    """The gain of a change; None where it failed or never took effect."""
    steps, seen = one
    if steps is None or seen is None or not seen.applied:
        return None
    return Gain(name, before, steps.typical(), True, noise)


def _finding(
    rule: Rule, hit: Hit, gains: dict[str, Gain | None], before: float, noise: float
) -> Finding:
    """A hit with the best of its measured gains, or with the most that it can be."""
    measured = [g for name in hit.changes if (g := gains.get(name)) is not None]
    real = [g for g in measured if g.change != "first-batch"]
    best = min(real, key=lambda g: g.after, default=None)
    bound = next((g for g in measured if g.change == "first-batch"), None)
    if bound and (best is None or best.after > (1 - WORTH) * before > bound.after):
        best = bound  # what is known to be lost, though nothing tried gets it back
    note = hit.note
    if best is None:
        tried = any(name in gains for name in hit.changes)
        note = note or f"the change {'failed' if tried else 'was not tried'}"
        best = Gain("", before, before * (1 - hit.most), False, noise) if hit.most < 1 else None
    elif best is bound and real:
        worse = ", ".join(f"{changes.in_words(g.change)} {g.factor:.2f}×" for g in real)
        note = f"Workers don't get it back here ({worse}): do less for each sample."
    return Finding(
        rule.name, hit.line[0], hit.line[1], hit.seen, hit.advice, rule.chapter, best, measured,
        note, hit.memory,
    )  # fmt: skip


def _report(
    script: Runs, evidence: Evidence, before: float, found: list[Finding],
    gains: dict[str, Gain | None], noise: float,
) -> Report:  # fmt: skip
    steps, seen = evidence.steps, evidence.seen
    quartiles = statistics.quantiles(steps.times, n=4)
    least = max(WORTH, 2 * noise)
    kept, none = list[Finding](), list[Gain]()
    for one in found:
        saved = 1 - one.gain.after / one.gain.before if one.gain else 0.0
        needed = least if one.gain and one.gain.measured else WORTH
        undecided = noise > NOISY and one.gain is not None and one.gain.measured
        if saved > needed or one.memory or one.gain is None or undecided:
            kept.append(one)
        else:
            none += one.tried or [one.gain]
    kept.sort(key=lambda one: one.gain.after if one.gain else before)
    facts = seen.facts
    machine = {
        "torch": str(facts.get("torch", "")), "gpu": str(facts.get("gpu", "")),
        "cores": str(facts.get("cores", "")), "threads": str(facts.get("threads", "")),
        "date": datetime.date.today().isoformat(),
    }  # fmt: skip
    report = Report(
        script.path, script.arguments, "", len(steps.steps), before, quartiles[0], quartiles[2],
        {part: steps.part(part) for part in PARTS}, steps.first_seconds, _epoch_extra(steps),
        _memory(seen), growth(seen, steps), kept, none, {}, machine, [], steps.times,
    )  # fmt: skip
    report.notes += _notes(evidence, {f.line for f in kept})
    return report


def _verdict(report: Report, noise: float) -> None:
    share = sum(report.parts[part] for part in COMPUTING) / sum(report.parts.values())
    spread = (report.step_high - report.step_low) / report.step_seconds
    if report.findings:
        count = len(report.findings)
        report.verdict = f"{count} findings" if count > 1 else "1 finding"
        if noise > NOISY:
            report.verdict += f", gains not decided: unchanged runs differ by {noise:.0%}"
    elif noise > NOISY or (spread > SPREAD and share < BOUND):
        report.verdict = (
            f"can't tell: unchanged runs differ by {noise:.0%}, quartiles by {spread:.0%} of a "
            "step. Run it on a quiet machine, or with more --steps"
        )
    elif share >= BOUND:
        report.verdict = (
            f"healthy: {share:.0%} of a step is forward, backward and optimizer, and "
            + ("nothing that was tried pays" if report.nothing_gained else "no rule found a fault")
        )
    else:
        largest = max(report.parts, key=lambda part: report.parts[part])
        report.verdict = f"can't tell: {largest} takes most of a step, and no rule knows why"


def _memory(seen: Seen) -> dict[str, float]:
    """Bytes: the process's peak, the GPU's, and what of it is counted exactly."""
    held = {
        "peak of the process": seen.peak_bytes, "peak on the GPU": seen.peak_on_gpu,
        "parameters": float(sum(o.bytes for o in seen.optimizers.values())),
        "gradients": float(sum(o.bytes for o in seen.optimizers.values())),
        "optimizer state": float(sum(o.state_bytes for o in seen.optimizers.values())),
    }  # fmt: skip
    return {name: size for name, size in held.items() if size}


def _epoch_extra(steps: Steps) -> float:
    """Seconds by which a step with a new epoch is longer than others; 0 without one."""
    begun = [s.seconds for s in steps.steps if "iter" in s.kinds]
    others = [s.seconds for s in steps.steps if "iter" not in s.kinds]
    return (
        max(statistics.median(begun) - statistics.median(others), 0.0) if begun and others else 0.0
    )


def _time_of_marks(seen: Seen) -> float:
    return (seen.marks[-1].end - seen.marks[0].begin) or 1.0


def _notes(evidence: Evidence, lines: set[int]) -> list[str]:
    """torch's own warnings, and what the passes didn't cover."""
    notes = []
    said = Counter((w.text.splitlines()[0], w.file, w.line) for w in evidence.seen.warned)
    for (text, file, line), _count in said.items():
        if line not in lines:
            place = f"{in_words(file, line)}: " if file else ""
            notes.append(f"Warning at {place}{text[:160]}")
    if evidence.steps.by != "optimizer":
        notes.append(
            f"No optimizer of torch.optim took a step: steps are counted by {evidence.steps.by}."
        )
    if evidence.seen.ended == "error":
        notes.append("The script failed after these steps:\n" + evidence.seen.error)
    return notes


def _without_steps(script: Runs, seen: Seen) -> Report:
    """The report on a run without enough steps.

    Raises: ScriptError with the script's own traceback where it failed.
    """
    if seen.ended == "error":
        raise ScriptError(seen.error, seen.exit_code)
    kinds = Counter(mark.kind for mark in seen.marks)
    said = ", ".join(f"{n} × {kind}" for kind, n in kinds.items()) or "nothing of torch's"
    notes = [f"Seen in this process: {said}. The script {seen.ended}."]
    children = float(seen.facts.get("children_cpu", 0.0))
    if kinds["step"]:
        notes.append(f"That is too few: {LEAST + 1} steps are the least.")
    if seen.ended == "no time":
        notes.append("It made no step in time: fewer data or --seconds 120 may help.")
    if children > CHILDREN and not _trains(seen):
        notes.append(
            f"Its child processes used {children:.0f} s of CPU time: if they train (mp.spawn), "
            "call the training function directly, or start the ranks by torchrun."
        )
    notes.append(
        "A step is found by a torch.optim optimizer, else by backward(), else by a DataLoader."
    )
    return Report(
        script.path, script.arguments, "no steps found", 0, 0.0, 0.0, 0.0, {}, 0.0, 0.0,
        _memory(seen), 0.0, [], [], {}, {"torch": str(seen.facts.get("torch", ""))}, notes,
    )  # fmt: skip
