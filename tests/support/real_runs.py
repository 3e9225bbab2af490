"""Predictions for two runs whose snapshots are published, kept for chapter 9.

`python -m tests.support.real_runs` writes data/predicted/real_runs.json anew: half a minute.
"""

import json

import torch

from course_utils.chapters.memory_snapshots.on_real_gpus import REAL_RUNS
from course_utils.memory.prediction import predict_bytes
from tests.support.cs336_transformer import MEDIUM, XL, training

CAPABILITY = (8, 0)  # the traces hold workspaces of 8.1 MiB, those of a GPU before Hopper
RUNS = {
    "training, FP32": ({"config": MEDIUM}, 1),
    "forward, autocast to BF16": (
        {"config": XL, "forward_only": True, "autocast": torch.bfloat16},
        2,
    ),
}


def predicted_run(run):
    """The row of one run."""
    how, steps = RUNS[run]
    found = predict_bytes(training(**how), steps, CAPABILITY)
    row = {"run": run, "allocated_bytes": found.peak_allocated, "phase": found.moment.phase}
    return row | {"parts_bytes": found.parts}


def store():
    rows = [json.dumps(predicted_run(run)) for run in RUNS]
    text = f'{{"torch": "{torch.__version__.partition("+")[0]}",\n "rows": [\n  '
    REAL_RUNS.write_text(text + ",\n  ".join(rows) + "\n ]\n}\n", encoding="utf-8")


if __name__ == "__main__":
    store()
