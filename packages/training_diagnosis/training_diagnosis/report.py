"""A report in words, within a screen."""

import os
import textwrap

from snapshots_and_traces.units import seconds_text, size_text
from training_diagnosis import changes, records
from training_diagnosis.diagnosis import NOISY
from training_diagnosis.records import Finding, Report

BAR = 28  # characters
WIDTH = 96
LEAST_SHARE = 0.005


def in_words(report: Report, findings: int = 5) -> str:
    """The report: verdict, step, where its time goes, findings by their gain, memory, notes."""
    lines = [f"{os.path.basename(report.script)}: {report.verdict}", ""]
    if report.steps:
        lines += [steps_words(report), *_bars(report)]
        for place, one in enumerate(report.findings[:findings], 1):
            lines += ["", *_wrapped(f"{place}. {where(one)}: {one.seen}.", "", "   ")]
            lines += _wrapped(f"Change: {one.advice}.", "   ", "   ")
            lines += _wrapped(f"{gain_words(one)} Chapter {one.chapter} explains it.", "   ", "   ")
        if (more := len(report.findings) - findings) > 0:
            lines.append(f"… and {more} more")
        lines.append("")
    for said in remarks(report):
        lines += [said] if "\n" in said else _wrapped(said, "", "  ")
    return "\n".join(lines)


def remarks(report: Report) -> list[str]:
    """The lines after the findings: ranks, what was tried, memory, overhead, notes."""
    said = [_ranks(report), _tried(report), _memory(report), _overhead(report)]
    return [one for one in said if one and report.steps] + report.notes


def where(one: Finding) -> str:
    return records.in_words(one.file, one.line) if one.line else "this run"


def steps_words(report: Report) -> str:
    """The seconds of the steps, in words; the first and those with a new epoch separately."""
    low, high = seconds_text(report.step_low), seconds_text(report.step_high)
    epoch = f"; a new epoch adds {seconds_text(report.epoch_extra_seconds)}"
    return (
        f"{report.steps} steps of {seconds_text(report.step_seconds)} (half of them {low} to "
        f"{high}); the first took {seconds_text(report.first_step_seconds)}"
    ) + epoch * bool(report.epoch_extra_seconds)


def shares(report: Report) -> dict[str, float]:
    """Each part of a step that is worth showing, as a share of it."""
    whole = sum(report.parts.values()) or 1.0
    found = {part: seconds / whole for part, seconds in report.parts.items()}
    return {part: share for part, share in found.items() if share >= LEAST_SHARE}


def _bars(report: Report) -> list[str]:
    return [
        f"  {share:>4.0%}  {'█' * round(BAR * share):<{BAR}} {part}"
        for part, share in shares(report).items()
    ]


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others)


def gain_words(one: Finding) -> str:
    """The gain of a finding's change in words: measured, estimated, or unknown."""
    if one.gain is None:
        return "Gain: memory." if one.memory else f"Gain: unknown ({one.note})."
    times = f"{seconds_text(one.gain.before)} → {seconds_text(one.gain.after)} a step"
    if not one.gain.measured:
        return f"Gain: about {one.gain.factor:.2f}× ({times}; {one.note})."
    if one.gain.noise > NOISY:
        return (
            f"Gain: not decided ({times} with {changes.in_words(one.gain.change)}, but unchanged "
            f"runs differ by {one.gain.noise:.0%}: other programs?)."
        )
    most = "at most " if one.gain.change == "first-batch" else ""
    return (
        f"Measured: {most}{one.gain.factor:.2f}× "
        f"({times}, with {changes.in_words(one.gain.change)}; "
        f"unchanged runs differ by {one.gain.noise:.0%}). {one.note}".rstrip()
    )


def _tried(report: Report) -> str:
    said = [
        f"{changes.in_words(g.change)} {g.factor:.2f}×" for g in report.nothing_gained if g.measured
    ]
    return f"Tried without a gain worth a line: {'; '.join(said)}." if said else ""


def _ranks(report: Report) -> str:
    if not report.ranks:
        return ""
    steps = sorted(one.seconds for one in report.ranks)
    sent = sorted(one.communicating for one in report.ranks)
    own = sorted(report.ranks, key=lambda one: one.own)
    return (
        f"{len(own)} ranks: steps of {seconds_text(steps[0])} to {seconds_text(steps[-1])}; "
        f"collectives that nothing hides take {seconds_text(sent[0])} to {seconds_text(sent[-1])} "
        "of them, waiting for slower ranks included. Without these, rank "
        f"{own[-1].rank} is slowest ({seconds_text(own[-1].own)}) and rank {own[0].rank} quickest "
        f"({seconds_text(own[0].own)}). The rest of this report is of rank 0."
    )


def _memory(report: Report) -> str:
    said = ", ".join(f"{name} {size_text(size)}" for name, size in report.memory.items())
    grown = f"; it grows by {size_text(report.growth_bytes)} a step"
    return f"Memory: {said}{grown * (report.growth_bytes > 2**12)}."


def _overhead(report: Report) -> str:
    marks, look = report.overhead.get("marks", 0.0), report.overhead.get("closer look", 0.0)
    return (
        f"Overhead: the marks take {marks:.1%} of a step. The closer look made steps "
        f"{1 + look:.1f} times as long; its times aren't used."
    )
