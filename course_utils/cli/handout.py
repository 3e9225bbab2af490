"""`python -m course_utils handout 02`: a chapter without outputs, to be run by a class.

The source of every cell that makes a claim, gives an answer or shows a figure or a table is
collapsed: that source holds the results and the titles that tell them, and running the cell shows
both. All else is as in the chapter, cell ids included, so that a reader's progress counts.
"""

from pathlib import Path
from typing import Any

import nbformat

from course_utils.cli import notebooks
from course_utils.core import files
from course_utils.lesson.catalog import is_question

HANDOUTS = files.ROOT / "build" / "handouts"
MARK = "course_handout"  # in a handout's metadata: the chapter's name
CLAIMS = ("claim(", "follows(", "refuses(", "answer(")


def make(path: Path, to: Path | None = None) -> Path:
    """Writes the handout of a chapter to the file or folder `to`; returns the file.

    Overwrites an earlier handout that nobody has run. The chapter's own file isn't changed.
    Raises: NotebookError if another file, or a handout with outputs, has that name.
    """
    target = to or HANDOUTS
    if to is None or to.is_dir():
        target = target / path.name
    if target.exists() and not _is_fresh(target, path.stem):
        raise notebooks.NotebookError(
            f"Nothing was written: {target} exists, and is no handout of {path.stem} as it was "
            "made. Move it away, or choose another file with --output FILE."
        )
    notebook = notebooks.read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if gives_away(cell):
                notebooks.hide(cell)
            cell.outputs, cell.execution_count = [], None
    notebook.metadata[MARK] = path.stem
    files.write_whole(target, nbformat.writes(notebook) + "\n")
    return target


def gives_away(cell: Any) -> bool:
    """True if the source of a stored code cell may tell what the reader is to find."""
    shows = any(output.output_type != "stream" for output in cell.outputs)
    return any(name in cell.source for name in CLAIMS) or (shows and not is_question(cell.source))


def _is_fresh(target: Path, stem: str) -> bool:
    """True for a handout of the chapter that holds no outputs."""
    try:
        found = notebooks.read(target)
    except notebooks.NotebookError:
        return False
    ran = any(cell.get("execution_count") or cell.get("outputs") for cell in found.cells)
    return found.metadata.get(MARK) == stem and not ran
