"""Slides of a chapter: its cells as stored, in one HTML file that needs no network.

nbconvert writes them with reveal.js, of which `deck/vendored` has a copy (6.0.2, MIT licence).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import SlidesExporter
from nbformat.v4 import new_code_cell, new_markdown_cell
from traitlets.config import Config

from course_utils.cli import notebooks
from course_utils.core import files

HERE = Path(__file__).parent
SLIDES = files.ROOT / "build" / "slides"
TASK = re.compile(r"\*\*(?:Predict|Find|Count|Try)\b")
NEW_SLIDE = re.compile(rf"\n+(?=#{{1,3}} )|(?:\n\n|(?<=[.?!:)]) )(?={TASK.pattern})")
SOURCE_LEFT_OUT = re.compile(r"^(?:start|predict)\(", re.M)


def make(path: Path, folder: Path = SLIDES) -> Path:
    """Writes the slides of a notebook as stored; returns the file, named as the notebook is.

    Raises: OSError, ValueError where the notebook can't be read or the file not be written.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = list(_slides(notebook.cells))
    exporter = SlidesExporter(
        config=Config(CSSHTMLHeaderPreprocessor={"style": "default"}),
        extra_template_basedirs=[str(HERE)],
        template_name="deck",
        embed_images=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    text, _ = exporter.from_notebook_node(
        notebook, {"metadata": {"name": path.stem, "path": str(path.parent)}}
    )
    target = folder / f"{path.stem}.html"
    files.write_whole(target, text)
    return target


def _slides(cells: list[Any]) -> Iterator[Any]:
    """A cell for each slide: a heading and a task begin one, and a picture has one to itself."""
    heading = ""
    for cell in cells:
        for kind, part in _of_text(cell) if cell.cell_type == "markdown" else _of_code(cell):
            if kind == "opening":
                heading = part.source.splitlines()[0].lstrip("# ")
            data = {"kind": kind} | ({} if kind == "opening" else {"heading": heading})
            part.metadata.slideshow = {"slide_type": "slide", "data": data}
            yield part


def _of_text(cell: Any) -> Iterator[tuple[str, Any]]:
    for text in NEW_SLIDE.split(cell.source):
        if TASK.match(text):
            task, _, text = text.partition("\n\n")
            yield "task", new_markdown_cell(task)
        if text:
            kind = "opening" if text.startswith("#") else "text"
            yield kind, new_markdown_cell(text)


def _of_code(cell: Any) -> Iterator[tuple[str, Any]]:
    pictures = [output for output in cell.outputs if "image/png" in output.get("data", {})]
    other = [output for output in cell.outputs if output not in pictures]
    is_hidden = notebooks.is_hidden(cell) or bool(SOURCE_LEFT_OUT.search(cell.source))
    if other or not is_hidden:
        yield "code", _code_cell("" if is_hidden else cell.source, other)
    for picture in pictures:
        yield "picture", _code_cell("", [picture])


def _code_cell(source: str, outputs: list[Any]) -> Any:
    cell = new_code_cell(source, outputs=outputs)
    cell.metadata.transient = {"remove_source": not source}  # nbconvert's: no empty box of code
    return cell
