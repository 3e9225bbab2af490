"""What chapter 9 asks a real GPU: what it reserves with other settings.

And what real GPUs gave others, beside what the course predicts for them.
"""

import json
from collections.abc import Iterable

import torch

from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.core import files
from course_utils.core.evidence import Row, published
from course_utils.memory.kept_predictions import predicted
from course_utils.memory.on_gpu import reserved_on_gpu
from course_utils.memory.prediction import cublas_workspace
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.replay import what_if

REAL_RUNS = files.DATA / "predicted" / "real_runs.json"
SETTINGS = (
    "", "roundup_power2_divisions:4", "max_split_size_mb:21", "expandable_segments:True",
)  # fmt: skip


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


def real_runs() -> list[Row]:
    """What was predicted for the runs of published `transformer_peaks`, in its columns.

    `off_percent` is by how much of the GPU's peak it is too high. `python -m
    tools.predict_real_runs` makes the predictions, for GPUs before Hopper: the models are that
    tool's. Raises: OSError without the file.
    """
    kept = json.loads(REAL_RUNS.read_text(encoding="utf-8"))["rows"]
    return [
        {
            "run": gpu["run"],
            "allocated_bytes": row["allocated_bytes"],
            "workspaces": round(row["parts_bytes"]["workspace"] / cublas_workspace((8, 0))),
            "off_percent": round(100 * (row["allocated_bytes"] / gpu["allocated_bytes"] - 1), 3),
        }
        for gpu, row in zip(published("transformer_peaks").rows, kept, strict=True)
    ]


def bert_on_3090(measured: Iterable[Row]) -> dict[str, Row]:
    """What was predicted for BERT-Large on an RTX 3090, with two Adams, by case.

    `measured` are the rows of published `bert_large_3090`; a row has also `left_mib`: what was
    measured less what would be reserved.
    """
    mib = {row["batch"]: row["mib"] for row in measured}
    found = {}
    for row in predicted(model="BERT-Large", capability=[8, 6]):
        left = mib[row["batch"]] - row["peak_reserved_bytes"] / 2**20
        adam = "older Adam" if "2.0" in row["optimizer"] else "Adam"
        way = f"{row['accumulate']} × 1" if row["batch"] == 1 else f"{row['batch']} at once"
        case = f"{way}, {adam}: {left:,.0f} MiB left"
        found[case] = row | {"left_mib": left}
    return found
