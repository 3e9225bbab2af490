"""A report as one HTML file, opened without a network; it has no script."""

import os
from collections.abc import Callable, Sequence
from html import escape

from snapshots_and_traces.units import seconds_text, size_text
from training_diagnosis.diagnosis import NOISY
from training_diagnosis.records import Finding, Report
from training_diagnosis.report import gain_words, remarks, shares, steps_words, where
from training_diagnosis.steps import PARTS

COLOURS = dict(  # Okabe and Ito's; computing is blue and green
    zip(
        PARTS,
        ("#D55E00", "#E69F00", "#8C6D31", "#CC79A7", "#7B5EA7", "#009E73", "#0072B2", "#56B4E9",
         "#F0E442", "#999999"),
        strict=True,
    )
)  # fmt: skip
STYLE = """
:root { color-scheme: light dark; --ink: #222; --quiet: #595959; --paper: #fff; --rule: #d6d6d6;
  --card: #f7f7f5; --gain: #00694d; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e4; --quiet: #b0b0b0; --paper: #1c1c1e; --rule: #4a4a4d; --card: #252528;
    --gain: #5fd0a8; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; color: var(--ink);
  background: var(--paper); margin: 0 auto; padding: 16px; max-width: 900px;
  overflow-wrap: anywhere; }
h1 { font-size: 20px; margin: 0; } h2 { font-size: 16px; margin: 26px 0 8px; }
p { margin: 4px 0; } .quiet, figcaption { color: var(--quiet); }
.bar { display: flex; height: 34px; border-radius: 4px; overflow: hidden; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 18px; list-style: none; padding: 0;
  margin: 8px 0; }
.keys i { display: inline-block; width: 12px; height: 12px; margin-right: 6px; }
figure { margin: 8px 0; } svg { width: 100%; height: 90px; display: block;
  border-bottom: 1px solid var(--rule); }
article { background: var(--card); border: 1px solid var(--rule); border-radius: 6px;
  padding: 10px 14px; margin: 10px 0; }
h3 { font: 600 15px ui-monospace, "DejaVu Sans Mono", monospace; margin: 0 0 4px; }
.gain { color: var(--gain); font-weight: 600; }
pre { white-space: pre-wrap; font-size: 13px; }
"""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def page(report: Report) -> str:
    """The whole page: verdict, where a step's time goes, each step, memory, findings, notes."""
    name = escape(os.path.basename(report.script))
    command = escape(" ".join([report.script, *report.arguments]))
    machine = ", ".join(f"{key} {value}" for key, value in report.machine.items() if value)
    body = [
        f"<h1>{name}: {escape(report.verdict)}</h1>",
        f'<p class="quiet">{command}<br>{escape(machine)}</p>',
    ]
    if report.steps:
        body += ["<h2>Where the time of a step goes</h2>", _bar(report)]
        body += [f"<p>{escape(steps_words(report))}</p>"]
        body += [_strip("Seconds of each step", report.step_times, seconds_text)]
        body += [_strip("Memory after each step", report.memory_times, size_text)]
    if report.findings:
        body += ["<h2>Findings, the largest gain first</h2>", *map(_finding, report.findings)]
    body += ["<h2>Notes</h2>", *map(_remark, remarks(report))]
    return PAGE.format(title=f"{name} · diagnose", style=STYLE, body="\n".join(body))


def _bar(report: Report) -> str:
    found = shares(report)
    bars = "".join(
        f'<span style="width:{share:.1%};background:{COLOURS[part]}" title="{part}"></span>'
        for part, share in found.items()
    )
    keys = "".join(
        f'<li><i style="background:{COLOURS[part]}"></i>{share:.0%} {part} '
        f'<span class="quiet">{seconds_text(report.parts[part])}</span></li>'
        for part, share in found.items()
    )
    said = ", ".join(f"{share:.0%} {part}" for part, share in found.items())
    return (
        f'<div class="bar" role="img" aria-label="{said}">{bars}</div><ul class="keys">{keys}</ul>'
    )


def _strip(title: str, values: Sequence[float], text: Callable[[float], str]) -> str:
    """One bar for each value, from 0 to the largest."""
    if not values:
        return ""
    most = max(values) or 1.0
    bars = "".join(
        f'<rect x="{i}.1" y="{90 - 90 * value / most:.1f}" width="0.8" fill="#56B4E9" '
        f'height="{90 * value / most:.1f}"><title>step {i + 1}: {text(value)}</title></rect>'
        for i, value in enumerate(values)
    )
    said = f"{title}, in order: {text(min(values))} to {text(most)}"
    return (
        f'<figure><figcaption>{said}</figcaption><svg viewBox="0 0 {len(values)} 90" '
        f'preserveAspectRatio="none" role="img" aria-label="{said}">{bars}</svg></figure>'
    )


def _remark(said: str) -> str:
    return f"<pre>{escape(said)}</pre>" if "\n" in said else f"<p>{escape(said)}</p>"


def _finding(one: Finding) -> str:
    decided = one.gain is not None and one.gain.measured and one.gain.noise <= NOISY
    return (
        f"<article><h3>{escape(where(one))}</h3><p>{escape(one.seen)}.</p>"
        f"<p><strong>Change:</strong> {escape(one.advice)}.</p>"
        f'<p class="{"gain" if decided else ""}">{escape(gain_words(one))}</p>'
        f'<p class="quiet">Chapter {one.chapter} explains it. {escape(one.file)}</p></article>'
    )
