"""Predictions kept in a file, since those of BERT-Large take seconds each.

`python -m course_utils predict` writes data/predicted/peak_by_model.json anew; a test predicts
some of its rows again and compares.
"""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_utils.core import files
from course_utils.core.evidence import Series, recorded

FILE = files.DATA / "predicted" / "peak_by_model.json"
REAL_RUNS = files.DATA / "predicted" / "real_runs.json"
STEPS = 3
HOPPER, AMPERE = (9, 0), (8, 6)
SCENARIO = ("model", "precision", "batch", "accumulate", "checkpointing", "optimizer", "capability")
IDENTIFIES = SCENARIO[:5]
Row = dict[str, Any]


def predicted(**where: Any) -> list[Row]:
    """The kept rows whose columns have the values of `where`; names of columns in bytes say so.

    `model`, `precision`, `batch`, `accumulate`, `checkpointing` and `optimizer` are those of
    `training_steps.TrainingStep`, `capability` is the GPU's compute capability as [major, minor],
    `parts_bytes` is `peak_allocated_bytes` by kind, in phase `phase`.
    Raises: OSError without the file; KeyError for a column that there isn't.
    """
    rows = read()["rows"]
    return [row for row in rows if all(row[name] == value for name, value in where.items())]


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


def read() -> dict[str, Any]:
    """The whole file. Raises: OSError where it can't be read; ValueError where it is no JSON."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def store() -> Path:
    """Predicts every row and writes them: about 3 minutes and 0.5 GB."""
    import torch

    from course_utils.core.running import bar
    from course_utils.workloads.training_steps import all_steps, mystery_steps

    rows = [predict_row(step, HOPPER) for step in bar(all_steps(), "Hopper")]
    rows += [predict_row(step, AMPERE) for step in bar(mystery_steps(), "Ampere")]
    content = {
        "torch": torch.__version__.partition("+")[0],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "steps": STEPS,
        "rows": rows,
    }
    files.write_whole(FILE, _text(content))
    return FILE


def predict_row(step: Any, capability: tuple[int, int]) -> Row:
    """One row: `step`, a TrainingStep, on a GPU of that compute capability."""
    from course_utils.memory.prediction import predict_bytes

    found = predict_bytes(step.build, STEPS, capability)
    scenario = {name: getattr(step, name) for name in SCENARIO[:-1]}
    return scenario | {
        "capability": list(capability),
        "peak_allocated_bytes": found.peak_allocated,
        "peak_reserved_bytes": found.peak_reserved,
        "phase": found.moment.phase,
        "parts_bytes": found.parts,
    }


def _text(content: dict[str, Any]) -> str:
    """JSON with a line for each row, so that a change is seen as one."""
    rows = ",\n  ".join(json.dumps(row) for row in content["rows"])
    head = json.dumps({k: v for k, v in content.items() if k != "rows"}, indent=1)
    return f'{head.removesuffix("}").rstrip()},\n "rows": [\n  {rows}\n ]\n}}\n'
