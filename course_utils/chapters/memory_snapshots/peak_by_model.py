"""The peaks of training steps as chapter 9 shows them: predicted beside measured."""

from collections.abc import Callable, Iterable
from typing import Any

from course_utils.core.evidence import Row, Series, recorded
from course_utils.memory.kept_predictions import HOPPER, SCENARIO, predicted, read

IDENTIFIES = SCENARIO[:5]


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


def wrong_by(rows: Iterable[Row], what: str, but: str = "") -> list[float]:
    """The shares by which predictions of the peak `what` were wrong, the smallest first.

    `what` is "allocated" or "reserved"; the model `but` is left out.
    """
    return sorted(
        abs(row[f"predicted_{what}_bytes"] / row[f"{what}_bytes"] - 1)
        for row in rows
        if row["model"] != but
    )


def _words(row: Row) -> str:
    parts = [row["model"], row["precision"], f"batch {row['batch']}"]
    parts += [f"{row['accumulate']} accumulated"] if row["accumulate"] > 1 else []
    return ", ".join(parts + (["checkpointing"] if row["checkpointing"] else []))


def provenance() -> str:
    """With what and when the rows were made, in one line."""
    kept = read()
    return f"predicted with torch {kept['torch']}, {kept['date'][:10]}, {kept['steps']} steps"
