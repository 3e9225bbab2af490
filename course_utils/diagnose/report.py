"""A report in words, within a screen."""

import os
import textwrap

from course_utils.diagnose import changes
from course_utils.diagnose.diagnosis import NOISY
from course_utils.diagnose.records import Finding, Report
from snapshots_and_traces.units import seconds_text, size_text

BAR = 28  # characters
WIDTH = 96
LEAST_SHARE = 0.005


def in_words(report: Report, findings: int = 5) -> str:
    """The report: verdict, step, where its time goes, findings by their gain, memory, notes."""
    name = os.path.basename(report.script)
    lines = [f"{name}: {report.verdict}", ""]
    if report.steps:
        lines += _step(report)
        for place, one in enumerate(report.findings[:findings], 1):
            lines += ["", *_finding(place, one)]
        if more := len(report.findings) - findings:
            lines += [f"… and {more} more"] if more > 0 else []
        lines += ["", *_ranks(report), *_tried(report), *_memory(report)]
        marks, look = report.overhead.get("marks", 0.0), report.overhead.get("closer look", 0.0)
        lines.append(
            f"Overhead: the marks take {marks:.1%} of a step. The closer look made steps "
            f"{1 + look:.1f} times as long; its times aren't used."
        )
    for note in report.notes:
        lines += textwrap.wrap(note, WIDTH, subsequent_indent="  ") if "\n" not in note else [note]
    return "\n".join(lines)


def _step(report: Report) -> list[str]:
    low, high = seconds_text(report.step_low), seconds_text(report.step_high)
    lines = [
        f"{report.steps} steps of {seconds_text(report.step_seconds)} (half of them {low} to "
        f"{high}); "
        f"the first took {seconds_text(report.first_step_seconds)}"
        + (
            f"; a new epoch adds {seconds_text(report.epoch_extra_seconds)}"
            if report.epoch_extra_seconds
            else ""
        )
    ]
    whole = sum(report.parts.values()) or 1.0
    for part, seconds in report.parts.items():
        if seconds >= LEAST_SHARE * whole:
            bar = "█" * round(BAR * seconds / whole)
            lines.append(f"  {seconds / whole:>4.0%}  {bar:<{BAR}} {part}")
    return lines


def _finding(place: int, one: Finding) -> list[str]:
    where = f"{os.path.basename(one.file)}:{one.line}" if one.line else "this run"
    head = f"{place}. {where}: {one.seen}."
    lines = textwrap.wrap(head, WIDTH, subsequent_indent="   ")
    lines += textwrap.wrap(
        f"Change: {one.advice}.", WIDTH - 3, initial_indent="   ", subsequent_indent="   "
    )
    said = f"{gain_words(one)} Chapter {one.chapter} explains it."
    lines += textwrap.wrap(said, WIDTH - 3, initial_indent="   ", subsequent_indent="   ")
    return lines


def gain_words(one: Finding) -> str:
    """What a finding's change brings: a measured factor, the most it can, or that nobody knows."""
    if one.gain is None:
        return "Gain: memory." if one.memory else f"Gain: unknown ({one.note})."
    times = f"{seconds_text(one.gain.before)} → {seconds_text(one.gain.after)} a step"
    if not one.gain.measured:
        return (
            f"Gain: at most {one.gain.factor:.2f}× ({times}; {one.note.removeprefix('at most: ')})."
        )
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


def _tried(report: Report) -> list[str]:
    if not report.nothing_gained:
        return []
    said = [
        f"{changes.in_words(g.change)} {g.factor:.2f}×" for g in report.nothing_gained if g.measured
    ]
    text = f"Tried without a gain worth a line: {'; '.join(said)}."
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ") if said else []


def _ranks(report: Report) -> list[str]:
    if not report.ranks:
        return []
    steps = sorted(one.seconds for one in report.ranks)
    sent = sorted(one.communicating for one in report.ranks)
    own = sorted(report.ranks, key=lambda one: one.own)
    text = (
        f"{len(own)} ranks: steps of {seconds_text(steps[0])} to {seconds_text(steps[-1])}; "
        f"collectives that nothing hides take {seconds_text(sent[0])} to {seconds_text(sent[-1])} "
        "of them, waiting for slower ranks included. Without these, rank "
        f"{own[-1].rank} is slowest ({seconds_text(own[-1].own)}) and rank {own[0].rank} quickest "
        f"({seconds_text(own[0].own)}). The rest of this report is of rank 0."
    )
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ")


def _memory(report: Report) -> list[str]:
    said = [f"{name} {size_text(size)}" for name, size in report.memory.items()]
    grown = (
        f"; it grows by {size_text(report.growth_bytes)} a step"
        if report.growth_bytes > 2**12
        else ""
    )
    return textwrap.wrap(f"Memory: {', '.join(said)}{grown}.", WIDTH, subsequent_indent="  ")
