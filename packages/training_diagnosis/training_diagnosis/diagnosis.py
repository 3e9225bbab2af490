"""Diagnoses a script: an unchanged pass, a closer look, then one pass for each change."""

import datetime
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from training_diagnosis import changes
from training_diagnosis.passes import DEBUGGING, ScriptError
from training_diagnosis.records import Finding, Gain, Look, Report, Seen, in_words
from training_diagnosis.rules import RULES, Evidence, Hit, Rule, growth, sizes_after_steps
from training_diagnosis.steps import LEAST, PARTS, Steps, find

WORTH = 0.05  # of a step: a smaller gain is no finding
SPREAD = 0.5  # quartiles this far apart, relative to the median, say that times can't be compared
COMPUTING = ("forward", "backward", "optimizer")
NOISY = 0.25  # unchanged runs this far apart decide no gain
CHILDREN = 1.0  # seconds of CPU time in child processes, while this one doesn't train
BOUND = 0.6  # computing's share of a step that is bound by it


def _trains(seen: Seen) -> bool:
    return any(mark.kind == "backward" for mark in seen.marks)


class Runs(Protocol):
    """A run that can be repeated: a script, or a function in a notebook."""

    path: str
    arguments: list[str]

    def run(self, change: str = "", look: bool = False) -> Seen: ...


def diagnose(
    script: Runs, minutes: float = 10.0, try_changes: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> Report:  # fmt: skip
    """The report on a script.

    The order: an unchanged pass, the closer look, a pass for each change that a rule wants tried,
    an unchanged pass again: by how much the unchanged ones differ is what a gain must exceed.
    Raises: ScriptError where the script fails by itself before it has made its steps;
    NotImplementedError on Windows.
    """
    if sys.platform == "win32":
        raise NotImplementedError("diagnose needs Linux or macOS; on Windows run it in WSL 2")
    begun = time.monotonic()
    say("Running it unchanged")
    seen = script.run()
    steps = find(seen)
    elsewhere = float(seen.facts.get("children_cpu", 0.0)) > CHILDREN and not _trains(seen)
    if steps is None or elsewhere or seen.ended == "no time":
        return _without_steps(script, seen)
    typical = steps.typical()
    say(f"  {len(steps.steps)} steps of {typical * 1e3:.3g} ms. Looking closer")
    looked = script.run(look=True)
    look, looked_steps = looked.look or Look(), find(looked)
    for one, closer in zip(seen.ranks, looked.ranks, strict=True):
        one.lines = closer.lines
    environment = [name for name in DEBUGGING if os.environ.get(name) not in (None, "", "0")]
    evidence = Evidence(seen, steps, look, environment)
    hits = [(rule, hit) for rule in RULES if (hit := rule.look(evidence)) is not None]
    tried, untried = dict[str, Steps | None](), list[str]()
    took = time.monotonic() - begun
    for name in _to_try(hits) if try_changes else ():
        if begun + 60 * minutes - time.monotonic() < took:  # for this pass and the last, unchanged
            untried.append(name)
            continue
        say(f"  Again, with one change: {changes.in_words(name)}")
        tried[name] = _try(script, name)
    unchanged, every_time = [typical], list(steps.times)
    if tried:
        say("  Again, unchanged: by how much do two runs differ?")
        if again := find(script.run()):
            unchanged.append(again.typical())
            every_time += again.times
    before, noise = statistics.fmean(unchanged), max(unchanged) / min(unchanged) - 1
    gains = {
        name: Gain(name, before, one.typical(), True, noise) if one else None
        for name, one in tried.items()
    }
    found = [_finding(rule, hit, gains, before, noise) for rule, hit in hits]
    report = _report(script, evidence, before, every_time, found)
    report.verdict = _verdict(report, noise)
    report.overhead["marks"] = len(seen.marks) * seen.hook_seconds / _time_of_marks(seen)
    if looked_steps:
        report.overhead["closer look"] = looked_steps.typical() / before - 1
    report.notes += [f"Not tried, for want of time: {changes.in_words(name)}" for name in untried]
    return report


def _to_try(hits: list[tuple[Rule, Hit]]) -> list[str]:
    """The changes of all rules, once each: those of the largest possible gain first."""
    order = sorted(hits, key=lambda one: -one[1].most)
    return list(dict.fromkeys(name for _, hit in order for name in hit.changes))


def _try(script: Runs, name: str) -> Steps | None:
    """The steps with a change; None where it failed or never took effect."""
    try:
        seen = script.run(change=name)
    except ScriptError:
        return None
    return find(seen) if seen.applied else None


def _finding(
    rule: Rule, hit: Hit, gains: dict[str, Gain | None], before: float, noise: float
) -> Finding:
    """A hit with the best of its measured gains, or with an estimate."""
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
        rule.name, *hit.line, hit.seen, rule.advice, rule.chapter, best, measured, note, hit.memory
    )


def _worth(gain: Gain) -> bool:
    """Whether a gain is worth a finding, or isn't decided; a bound is seen in one run alone."""
    least = max(WORTH, 2 * gain.noise) if gain.measured else WORTH
    return 1 - gain.after / gain.before > least or (gain.measured and gain.noise > NOISY)


def _report(
    script: Runs, evidence: Evidence, before: float, times: list[float], found: list[Finding]
) -> Report:
    """The report; `before` and `times` are of all unchanged runs, the rest of the first."""
    steps, seen = evidence.steps, evidence.seen
    low, _, high = statistics.quantiles(times, n=4)
    kept, none = list[Finding](), list[Gain]()
    for one in found:
        gain = one.gain
        if gain is None or one.memory or _worth(gain):
            kept.append(one)
        else:
            none += one.tried or [gain]
    kept.sort(key=lambda one: one.gain.after if one.gain else before)
    machine = {name: str(seen.facts.get(name, "")) for name in ("torch", "gpu", "cores", "threads")}
    return Report(
        script.path, script.arguments, "", len(steps.steps), before, low, high,
        {part: steps.part(part) for part in PARTS}, steps.first_seconds, _epoch_extra(steps),
        _memory(seen), growth(seen, steps), kept, none, {},
        machine | {"date": datetime.date.today().isoformat()},
        _notes(evidence, {f.line for f in kept}), steps.times, seen.ranks,
        sizes_after_steps(seen, steps),
    )  # fmt: skip


def _verdict(report: Report, noise: float) -> str:
    share = sum(report.parts[part] for part in COMPUTING) / sum(report.parts.values())
    spread = (report.step_high - report.step_low) / report.step_seconds
    if report.findings:
        count = len(report.findings)
        undecided = f", gains not decided: unchanged runs differ by {noise:.0%}"
        return (f"{count} findings" if count > 1 else "1 finding") + undecided * (noise > NOISY)
    if noise > NOISY or (spread > SPREAD and share < BOUND):
        return (
            f"can't tell: unchanged runs differ by {noise:.0%}, quartiles by {spread:.0%} of a "
            "step. Run it on a quiet machine, or with more --steps"
        )
    if share >= BOUND:
        tried = "nothing that was tried pays" if report.nothing_gained else "no rule found a fault"
        return f"healthy: {share:.0%} of a step is forward, backward and optimizer, and {tried}"
    largest = max(report.parts, key=lambda part: report.parts[part])
    return f"can't tell: {largest} takes most of a step, and no rule knows why"


def _memory(seen: Seen) -> dict[str, float]:
    """Bytes: the process's peak, the GPU's, and what of it is counted exactly."""
    parameters = float(sum(o.bytes for o in seen.optimizers.values()))
    held = {
        "peak of the process": seen.peak_bytes, "peak on the GPU": seen.peak_on_gpu,
        "parameters": parameters, "gradients": parameters,
        "optimizer state": float(sum(o.state_bytes for o in seen.optimizers.values())),
    }  # fmt: skip
    return {name: size for name, size in held.items() if size}


def _epoch_extra(steps: Steps) -> float:
    """Seconds by which a step with a new epoch is longer than others; 0 without one."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for step in steps.steps:
        times["iter" in step.kinds].append(step.seconds)
    begun, others = times[True], times[False]
    if not begun or not others:
        return 0.0
    return max(statistics.median(begun) - statistics.median(others), 0.0)


def _time_of_marks(seen: Seen) -> float:
    return (seen.marks[-1].end - seen.marks[0].begin) or 1.0


def _notes(evidence: Evidence, lines: set[int]) -> list[str]:
    """torch's own warnings, and what the passes didn't cover."""
    notes = []
    said = dict.fromkeys((w.text.splitlines()[0], w.file, w.line) for w in evidence.seen.warned)
    for text, file, line in said:
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
    late = seen.ended == "no time"
    notes = [f"Seen in this process: {said}. The script {'was stopped' if late else seen.ended}."]
    children = float(seen.facts.get("children_cpu", 0.0))
    if kinds["step"] and not late:
        notes.append(f"That is too few: {LEAST + 1} steps are the least.")
    if late:
        notes.append(
            f"It made no further step in time, and was at {seen.facts.get('stopped_at')}: if it "
            "doesn't hang there, fewer data or --seconds 120 may help."
        )
    if children > CHILDREN and not _trains(seen):
        notes.append(
            f"Its child processes used {children:.0f} s of CPU time: if they train (mp.spawn), "
            "call the training function directly, or start the ranks by torchrun."
        )
    if not kinds["step"]:
        notes.append(
            "A step is found by a torch.optim optimizer, else by backward(), else by a DataLoader."
        )
    verdict = "it stopped making steps" if late and kinds["step"] else "no steps found"
    return Report(
        script.path, script.arguments, verdict, 0, 0.0, 0.0, 0.0, {}, 0.0, 0.0,
        _memory(seen), 0.0, [], [], {}, {"torch": str(seen.facts.get("torch", ""))}, notes,
    )  # fmt: skip
