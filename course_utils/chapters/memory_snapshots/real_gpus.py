"""Compares the predictions of chapter 9 with measurements on a real GPU."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.core.evidence import Row, Series
from course_utils.memory.kept_predictions import HOPPER, SCENARIO, predicted
from course_utils.memory.on_gpu import reserved_on_gpu
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.replay import what_if

IDENTIFIES = SCENARIO[:5]
SETTINGS = (
    "", "roundup_power2_divisions:4", "max_split_size_mb:21", "expandable_segments:True",
)  # fmt: skip

# ---- The peaks of training steps by model: predicted, and measured on this GPU.


def to_measure(every: bool, fits: Callable[[int], bool] = lambda n_bytes: True) -> list[Row]:
    """The training steps to measure on a GPU beside what was predicted for Hopper.

    Each row identifies a step and holds the predicted peaks, in bytes. Without `every` they are
    those with the larger batch, in one piece: a third of them. What `fits` says no to, asked with
    the bytes that it would reserve, is left out, with a printed sentence.
    """
    rows = [
        row
        for row in predicted(capability=list(HOPPER))
        if every or (row["batch"] > 1 and row["accumulate"] == 1)
    ]
    fitting = [row for row in rows if fits(row["peak_reserved_bytes"])]
    if len(fitting) < len(rows):
        print(f"{len(rows) - len(fitting)} of {len(rows)} steps don't fit this GPU: left out.")
    return [
        {name: row[name] for name in IDENTIFIES}
        | {
            f"predicted_{what}_bytes": row[f"peak_{what}_bytes"]
            for what in ("allocated", "reserved")
        }
        for row in fitting
    ]


def build_of(case: Row) -> Callable[[Any], Any]:
    """Arguments for `predict_bytes` and `measured_on_gpu`, for the step that a row identifies."""
    from course_utils.workloads.training_steps import TrainingStep

    return TrainingStep(**{name: case[name] for name in IDENTIFIES}).build


def over_prediction(found: Series | list[Row] | None) -> Any:
    """Returns by how much GPUs' peaks exceed the predictions: a row for each model, in percent.

    `found` are measured steps of `to_measure`, or recorded ones; the result is of the same kind.
    """
    if isinstance(found, Series):
        return replace(found, rows=over_prediction(list(found.rows)))
    models = dict.fromkeys(row["model"] for row in found or [])
    return [_over(model, [r for r in found or [] if r["model"] == model]) for model in models]


def _over(model: str, rows: list[Row]) -> Row:
    row: Row = {"model": model, "steps": len(rows)}
    for what in ("allocated", "reserved"):
        ratios = [r[f"{what}_bytes"] / r[f"predicted_{what}_bytes"] for r in rows]
        least, most = (round(100 * (one - 1), 1) + 0.0 for one in (min(ratios), max(ratios)))
        row[f"{what}, %"] = f"{least:+.1f} to {most:+.1f}"
    return row


def in_gib(found: Series | list[Row] | None) -> Any:
    """Returns rows, or evidence, with sizes in GiB as text: columns that end in mb."""
    if isinstance(found, Series):
        return replace(found, rows=in_gib(list(found.rows)))
    return [dict(_gib(column, value) for column, value in row.items()) for row in found or []]


def _gib(column: str, value: Any) -> tuple[str, Any]:
    if not column.endswith("mb"):
        return column, value
    name = column.removesuffix("mb").rstrip("_") or "outside"
    return f"{name}, GiB", f"{value * 10**6 / 2**30:.2f}"


# ---- What a program reserves with other settings of the allocator.


def knobs(program: what_if.Program) -> list[Row]:
    """The settings to try on this GPU, and the bytes that the program would reserve; none without.

    `program` is what "snapshot_fragmented" of `PROGRAMS` asks for.
    """
    if not torch.cuda.is_available():
        return []
    return [
        {
            "setting": text or "default",
            "predicted_reserved_bytes": what_if.run(program, Settings.parse(text)).peak_reserved,
        }
        for text in SETTINGS
    ]


def reserved_with(case: Row) -> Row:
    """The bytes that the growing caches reserve on this GPU with the setting of a case."""
    text = "" if case["setting"] == "default" else case["setting"]
    return {"reserved_bytes": reserved_on_gpu(PROGRAMS["snapshot_fragmented"], text)}
