"""The peaks of GPT `small` under each trade: predicted and kept in a file, measured on a GPU.

`python -m course_utils predict` predicts them all (about a minute) and writes
data/predicted/trades.json; a test predicts some of them again and compares.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from course_utils.chapters.trading_compute_for_memory.ladder import LADDER, Trade
from course_utils.core import files
from course_utils.core.evidence import Series, recorded

FILE = files.DATA / "predicted" / "trades.json"
STEPS = 2
GIB = 2**30
Row = dict[str, Any]


def predicted_trades() -> dict[str, Row]:
    """By trade: the kept prediction of its peaks, in bytes, and the parts of the first.

    Raises: OSError without the file.
    """
    return {row["trade"]: row for row in _kept()["rows"]}


def predicted_where() -> str:
    """With what and when that was predicted, in one line."""
    kept = _kept()
    return f"predicted for an H200 with torch {kept['torch']}, {kept['date'][:10]}"


def predict_trade(trade: Trade) -> Row:
    """What a trade allocates and reserves at its peak on a GPU such as an H200, in bytes."""
    from course_utils.memory.prediction import predict_bytes

    found = predict_bytes(trade.build, STEPS)
    return {
        "allocated_bytes": found.peak_allocated,
        "reserved_bytes": found.peak_reserved,
        "parts_bytes": found.parts,
    }


def store() -> Path:
    """Predicts every trade and writes them: about a minute."""
    from course_utils.core.running import bar

    rows = [{"trade": name} | predict_trade(LADDER[name]) for name in bar(list(LADDER), "trades")]
    head = {
        "torch": torch.__version__.partition("+")[0],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    text = json.dumps(head, indent=1).removesuffix("\n}") + f',\n "rows": [\n  {lines}\n ]\n}}\n'
    files.write_whole(FILE, text)
    return FILE


def measure_trade(case: Row) -> Row:
    """On a GPU: the peaks of `case["trade"]` in a process of its own, and its seconds a step."""
    from course_utils.core.timing import measure
    from course_utils.memory.on_gpu import emptied, measured_on_gpu

    trade = LADDER[case["trade"]]
    peaks = measured_on_gpu(trade.build, STEPS)
    _, _, step = trade.build(torch.device("cuda"))
    step()
    taken = measure(step)
    del step
    emptied()
    return {
        "allocated_bytes": peaks["allocated"],
        "reserved_bytes": peaks["reserved"],
        "step_seconds": taken,
    }


def in_gib(rows: Iterable[Row]) -> list[Row]:
    """Rows of a table: the trade, its peak as predicted and measured in GiB, and its time."""
    return [
        {
            "trade": row["trade"],
            "predicted, GiB": f"{row['predicted_bytes'] / GIB:.2f}",
            "measured, GiB": f"{row['allocated_bytes'] / GIB:.2f}"
            if "allocated_bytes" in row
            else "–",
            "step_seconds": row.get("step_seconds"),
        }
        for row in rows
    ]


def recorded_in_gib() -> Series | None:
    """What a GPU gave beside the predictions, as rows of the same table; None without one."""
    found = recorded("10_trading_compute_for_memory/trades")
    return found and Series.of_rows(in_gib(found.rows), found.kind, found.provenance)


def _kept() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content
