"""`python -m course_utils handout 02`: a chapter without outputs, to be run by a class.

The source of every cell that makes a claim, gives an answer or shows a figure or a table is
collapsed: that source holds the results and the titles that tell them, and running the cell shows
both. All else is as in the chapter, cell ids included, so that a reader's progress counts.
"""

import shutil
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_markdown_cell

from course_utils.cli import notebooks, sections
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
    return _write(path, notebooks.read(path), target)


def make_syllabus(name: str, folder: Path = HANDOUTS) -> Path:
    """Writes a handout for each chapter of a syllabus, in a folder and as a zip; returns the zip.

    A section that isn't taught keeps its cells, as later ones may need them; its heading says so
    and is closed. The README lists the parts in order.
    Raises: NotebookError if the syllabus doesn't fit the pages, or as for `make`.
    """
    from course_utils.cli import syllabus  # which needs msgspec; the website's environment has none

    read, target = syllabus.read(name), folder / name
    taught: dict[Path, set[str]] = {}
    for part in read.part:
        if part.chapter:
            taught.setdefault(part.path, set()).update(part.plan())
    for path, titles in taught.items():
        notebook = notebooks.read(path)
        notebook.cells = [cell for one in sections.of(path) for cell in _closed(one, titles)]
        _write(path, notebook, target / path.name)
    days = [
        f"# {title}\n\n" + "".join(f"- {one.in_words()}\n" for one in some)
        for title, some in read.by_day()
    ]
    files.write_whole(target / "README.md", "\n".join(days))
    return Path(shutil.make_archive(str(target), "zip", target))


def _closed(section: sections.Section, taught: set[str]) -> list[Any]:
    """The cells of a section; if the class leaves it out, those under its heading are closed."""
    first, *others = section.cells
    if section.title in {*taught, sections.OPENING, sections.REMEMBER}:
        return section.cells
    heading, _, first.source = first.source.partition("\n")
    title = new_markdown_cell(f"{heading} (not in this class)", id=f"{first.id}-heading")
    title.metadata["jp-MarkdownHeadingCollapsed"] = True
    return [title, first, *others]


def _write(path: Path, notebook: Any, target: Path) -> Path:
    if target.exists() and not _is_fresh(target, path.stem):
        raise notebooks.NotebookError(
            f"Nothing was written: {target} exists, and is no handout of {path.stem} as it was "
            "made. Move it away, or choose another file with --output FILE."
        )
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
