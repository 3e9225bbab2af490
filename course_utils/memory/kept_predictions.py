"""The peaks of whole training steps as predicted, kept in a file: BERT-Large's take seconds each.

`python -m course_utils predict` writes data/predicted/peak_by_model.json anew; a test predicts
some of its rows again and compares.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_utils.core import files

FILE = files.DATA / "predicted" / "peak_by_model.json"
STEPS = 3
HOPPER, AMPERE = (9, 0), (8, 6)
SCENARIO = ("model", "precision", "batch", "accumulate", "checkpointing", "optimizer", "capability")
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


def read(path: Path = FILE) -> dict[str, Any]:
    """A whole file: with which torch and when its `rows` were predicted, and these.

    Raises: OSError where it can't be read; ValueError where it is no JSON.
    """
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, rows: list[Row], **head: Any) -> None:
    """Keeps rows in a file that `read` reads, a line for each, so that a change is seen as one."""
    import torch

    head = {
        "torch": torch.__version__.partition("+")[0],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **head,
    }
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    begin = json.dumps(head, indent=1).removesuffix("\n}")
    files.write_whole(path, f'{begin},\n "rows": [\n  {lines}\n ]\n}}\n')


def store() -> Path:
    """Predicts every row and writes them: about 3 minutes and 0.5 GB."""
    from course_utils.core.running import bar
    from course_utils.workloads.training_steps import all_steps, mystery_steps

    rows = [predict_row(step, HOPPER) for step in bar(all_steps(), "Hopper")]
    rows += [predict_row(step, AMPERE) for step in bar(mystery_steps(), "Ampere")]
    write(FILE, rows, steps=STEPS)
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
