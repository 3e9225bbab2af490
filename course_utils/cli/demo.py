"""`python -m course_utils demo 02`: a chapter rehearsed before it is shown to a class."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from course_utils.cli import notebooks
from course_utils.core import files
from course_utils.lesson import page

SLOW_SECONDS = 5
STORED = files.ROOT / "build" / "demo"
UNDECIDED = "not decided, other programs"
ELSEWHERE = "not tested here"


@dataclass(frozen=True)
class CellRun:
    """One code cell of a rehearsal: how long it took, and what it showed."""

    number: int
    id: str
    first_line: str
    seconds: float
    failed: str
    text: str


def rehearse(path: Path) -> list[CellRun]:
    """Runs a notebook headless, every cell, and says of each what it took.

    What this loads lies in the caches of disk and compiler afterwards, so the class waits less.
    Raises: NotebookError where the notebook can't be read or its kernel dies.
    """
    executed, failed = notebooks.run(path, stop_at_error=False)
    code = [cell for cell in executed.cells if cell.cell_type == "code" and cell.source.strip()]
    if not all("shell.execute_reply" in cell.metadata.get("execution", {}) for cell in code):
        raise notebooks.NotebookError(f"{path.name} stopped on its way: {'; '.join(failed)}")
    return [_cell_run(number, cell) for number, cell in enumerate(code, 1)]


def report(runs: list[CellRun]) -> str:
    """Cells that are slow, that failed, what isn't live here; then the whole time."""
    slow = [r for r in runs if r.seconds > SLOW_SECONDS]
    failed = [r for r in runs if r.failed]
    lines = [f"  {r.seconds:5.1f} s  cell {r.number:2}  {r.first_line}" for r in runs]
    lines.append(f"  {sum(r.seconds for r in runs):5.1f} s  in all")
    lines += [f"Slow in front of a class: cell {r.number}, {r.seconds:.0f} s" for r in slow]
    lines += [f"✗ cell {r.number} failed: {r.failed}" for r in failed]
    lines += [f"Not live here: {line[2:]}" for line in _said(runs, ELSEWHERE)]
    lines += [f"Not decided, for other programs ran: {line[2:]}" for line in _said(runs, UNDECIDED)]
    if not slow and not failed:
        lines.append(f"No cell failed, and none took over {SLOW_SECONDS} s.")
    return "\n".join(lines)


def keep_stored(path: Path) -> Path:
    """Copies the chapter as stored, for cells that fail in class; returns the copy's path."""
    STORED.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(path, STORED / path.name))


def open_for_class(path: Path, options: Sequence[str] = ()) -> int:
    """JupyterLab at the chapter, with what is stored to fall back on, until it is closed.

    `options` are JupyterLab's own, such as --no-browser.
    """
    environment = {**os.environ, page.DEMO: str(keep_stored(path))}
    command = [sys.executable, "-m", "jupyterlab", path.name, *options]
    return subprocess.run(command, cwd=path.parent, env=environment).returncode


def _cell_run(number: int, cell: Any) -> CellRun:
    began, ended = (
        datetime.fromisoformat(cell.metadata["execution"][when])
        for when in ("iopub.status.busy", "shell.execute_reply")
    )
    errors = [f"{o.ename}: {o.evalue}" for o in cell.outputs if o.output_type == "error"]
    text = "".join(o.text for o in cell.outputs if o.output_type == "stream")
    first = cell.source.strip().splitlines()[0]
    seconds = (ended - began).total_seconds()
    return CellRun(number, cell.id, first[:70], seconds, "; ".join(errors)[:200], text)


def _said(runs: list[CellRun], words: str) -> list[str]:
    return [line for r in runs for line in r.text.splitlines() if words in line]
