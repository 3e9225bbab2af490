"""The cells of chapter 12, as they stand on its page."""

import json

import torch

from course_utils.core import files
from course_utils.workloads.gpt import GPTConfig

CELLS = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads((files.NOTEBOOKS / "12_data_parallelism.ipynb").read_text())["cells"]
}


def on_page(cell):
    """The source of a cell without its magic."""
    return CELLS[cell].partition("\n")[2] if CELLS[cell].startswith("%%") else CELLS[cell]


def names_of(cell):
    """What the first definition of a cell defines."""
    names = {"torch": torch, "GPTConfig": GPTConfig}
    exec(next(part for part in on_page(cell).split("\n\n") if part.startswith("def ")), names)
    return names
