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
