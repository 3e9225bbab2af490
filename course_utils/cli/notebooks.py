"""Running chapters: `normalise` stores their outputs, `record` keeps what they measure."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from course_utils.core import files, recording
from course_utils.core.machine import this_machine
from course_utils.core.running import UNATTENDED

CELL_SECONDS = 600  # on a GPU, one cell of chapter 9 starts some fifty processes
INTERRUPTED = "KeyboardInterrupt"
TIME_IS_UP = "the time is up: what was measured until now is kept"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
EXECUTED = files.ROOT / "build" / "executed"


class NotebookError(Exception):
    """A notebook that doesn't run; the message says where, and what the cell said."""


def normalise(path: Path) -> float:
    """Runs a notebook top to bottom and stores it so that only its content can differ next time.

    Cell ids stay; execution counts are in order; timestamps, widget state, widget views and the
    Python version go. Returns the seconds it took.
    Raises: NotebookError where a cell fails or a timed claim stays undecided; the file on disk
    stays as it was.
    """
    start, before = time.perf_counter(), path.read_bytes()
    notebook, failed = run(path, stop_at_error=True)
    if failed:
        raise NotebookError(f"{path.name} isn't stored: {failed[0]}")
    tidy(notebook)
    if ": not decided, other programs" in _as_text(notebook):
        raise NotebookError(
            f"{path.name} isn't stored: other programs were busy, and a claim stayed undecided. "
            "Run this again when they are done."
        )
    if path.read_bytes() != before:
        raise NotebookError(f"{path.name} isn't stored: it was changed meanwhile. Run this again.")
    files.write_whole(path.resolve(), _as_text(notebook))
    return time.perf_counter() - start


def record(path: Path, to: Path, deadline: float | None = None) -> list[str]:
    """Runs a chapter with recording on: its experiments' files go below `to`.

    `deadline`, in seconds since 1970, is when a cell that still runs is stopped.

    Goes on after a cell that fails, so that what can be measured is; returns what failed. The
    executed notebook is kept under build/executed, to be read and not committed.
    Raises: NotebookError, before anything runs, where `to` can't be written.
    """
    _require_writable(to)
    this_machine()
    changes = {recording.RECORD_TO: str(to.resolve())}
    changes |= {recording.DEADLINE: str(deadline)} if deadline else {}
    with mock.patch.dict(os.environ, changes):
        notebook, failed = run(path, stop_at_error=False, deadline=deadline)
    tidy(notebook)
    files.write_whole(EXECUTED / this_machine().slug / path.name, _as_text(notebook))
    return failed


def run(path: Path, stop_at_error: bool, deadline: float | None = None) -> tuple[Any, list[str]]:
    """The executed notebook, and a sentence for each cell that failed.

    A cell may take CELL_SECONDS, and no longer than to `deadline` (seconds since 1970). When it
    began and ended stands in its metadata, as nbclient writes it there.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout_func=lambda _cell: _cell_seconds(deadline),
        kernel_name=KERNEL["name"],
        allow_errors=not stop_at_error,
        resources={"metadata": {"path": str(path.parent)}},
    )
    changes = {"PYTHONPATH": files.python_path(), UNATTENDED: "1"}
    with mock.patch.dict(os.environ, changes), _cells_shown(notebook, path.stem) as shown:
        client.on_cell_executed = lambda **_cell: shown.update(1)
        try:
            client.execute(stderr=subprocess.DEVNULL)
        except CellExecutionError:
            pass
        except CellTimeoutError:
            if deadline and time.time() >= deadline - 1:
                others = [said for said in _failures(notebook) if INTERRUPTED not in said]
                return notebook, [*others, TIME_IS_UP]
            return notebook, [f"a cell ran longer than {CELL_SECONDS} s and was stopped"]
        except BaseException as error:
            # nbclient answers Ctrl-C and SIGTERM itself: it ends the kernel, then falls over it.
            if hasattr(client, "_async_cleanup_kernel_future"):
                raise KeyboardInterrupt from None
            if isinstance(error, DeadKernelError):
                return notebook, ["the kernel died: not enough memory?"]
            raise
    return notebook, _failures(notebook)


def read(path: Path) -> Any:
    """The notebook in a file. Raises: NotebookError if it is none; OSError if it can't be read."""
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except OSError:
        raise
    except Exception as error:
        raise NotebookError(
            f"{path.name} can't be read as a notebook ({type(error).__name__}). "
            f"Get it back: git checkout {path.name}"
        ) from None


def _cell_seconds(deadline: float | None) -> int:
    """Seconds that a cell may take; nbclient reads 0 as "for ever"."""
    left = deadline - time.time() if deadline else CELL_SECONDS
    return max(1, min(CELL_SECONDS, int(left)))


def _cells_shown(notebook: Any, what: str) -> Any:
    """A bar of the cells that ran, for whoever sits at a terminal."""
    from tqdm import tqdm

    total = sum(cell.cell_type == "code" for cell in notebook.cells)
    return tqdm(total=total, desc=what, unit=" cells", leave=False, disable=None)


def _require_writable(folder: Path) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise NotebookError(
            f"Nothing was run: {folder} can't be written ({error.strerror}). "
            "Make it writable, or record elsewhere with --to FOLDER."
        ) from None


def tidy(notebook: Any) -> None:
    """Removes what differs from run to run or from machine to machine and isn't content."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        for key in ("execution", "ExecuteTime", "collapsed", "scrolled"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.outputs = _merge_streams(cell.outputs)
            for output in cell.outputs:
                output.get("data", {}).pop(WIDGET_VIEW, None)
                output.pop("transient", None)


def is_hidden(cell: Any) -> bool:
    """True if the page shows a cell's outputs without its source."""
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


def hide(cell: Any) -> None:
    """Collapses a cell's source; a click in JupyterLab shows it."""
    cell.metadata["jupyter"] = {**cell.metadata.get("jupyter", {}), "source_hidden": True}


def _merge_streams(outputs: list[Any]) -> list[Any]:
    """Neighbouring pieces of one stream as one, wherever the kernel happened to cut them."""
    merged: list[Any] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.output_type == "stream" and last.get("name") == output.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def _as_text(notebook: Any) -> str:
    import nbformat

    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def _failures(notebook: Any) -> list[str]:
    return [
        f"code cell {number} ({cell.source.splitlines()[0]}): {output.ename}: {output.evalue}"
        for number, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), 1)
        for output in cell.outputs
        if output.output_type == "error"
    ]


def say(text: str) -> None:
    """One line on the terminal, at once."""
    print(text, flush=True, file=sys.stdout)
