"""What chapter 9 predicts beside what real GPUs take: here, and as they did for others."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.core import files
from course_utils.core.evidence import Row, Series, published, recorded
from course_utils.memory.kept_predictions import HOPPER, SCENARIO, predicted, read
from course_utils.memory.on_gpu import reserved_on_gpu
from course_utils.memory.prediction import cublas_workspace
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.replay import what_if

IDENTIFIES = SCENARIO[:5]
REAL_RUNS = files.DATA / "predicted" / "real_runs.json"
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
    """What `predict_bytes` and `measured_on_gpu` need of the step that a row identifies."""
    from course_utils.workloads.training_steps import TrainingStep

    return TrainingStep(**{name: case[name] for name in IDENTIFIES}).build


def in_gib(rows: Iterable[Row]) -> list[dict[str, str]]:
    """Rows of a table: which step, and its peaks as predicted and measured, in GiB (2**30)."""
    return [
        {
            "step": _words(row),
            **{
                f"{what}, {how}": f"{row[column] / 2**30:.2f}" if column in row else "–"
                for what in ("allocated", "reserved")
                for how, column in (
                    ("predicted", f"predicted_{what}_bytes"), ("measured", f"{what}_bytes")
                )
            },
        }
        for row in rows
    ]  # fmt: skip


def recorded_in_gib() -> Series | None:
    """What a GPU gave beside the predictions, as rows of the same table; None without one."""
    found = recorded("09_memory_snapshots/peak_by_model")
    return found and Series.of_rows(in_gib(found.rows), found.kind, found.provenance)


def wrong_by(rows: Iterable[Row], what: str) -> list[float]:
    """Returns by which shares predictions of the peak `what` were wrong, the smallest first.

    `what` is "allocated" or "reserved".
    """
    return sorted(abs(row[f"predicted_{what}_bytes"] / row[f"{what}_bytes"] - 1) for row in rows)


def _words(row: Row) -> str:
    parts = [row["model"], row["precision"], f"batch {row['batch']}"]
    parts += [f"{row['accumulate']} accumulated"] if row["accumulate"] > 1 else []
    return ", ".join(parts + (["checkpointing"] if row["checkpointing"] else []))


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


# ---- What real GPUs gave others.


def real_runs() -> list[Row]:
    """What was predicted for the runs of published `transformer_peaks`, in its columns.

    `off_percent` is by how much of the GPU's peak it is too high. `python -m
    tools.predict_real_runs` makes the predictions, for GPUs before Hopper: the models are that
    tool's. Raises: OSError without the file.
    """
    kept = read(REAL_RUNS)["rows"]
    return [
        {
            "run": gpu["run"],
            "allocated_bytes": row["allocated_bytes"],
            "workspaces": round(row["parts_bytes"]["workspace"] / cublas_workspace((8, 0))),
            "off_percent": round(100 * (row["allocated_bytes"] / gpu["allocated_bytes"] - 1), 3),
        }
        for gpu, row in zip(published("transformer_peaks").rows, kept, strict=True)
    ]
