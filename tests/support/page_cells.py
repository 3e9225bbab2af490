"""The cells of a chapter, as they stand on its page."""

import json

from course_utils.core import files


def cells_of(number):
    """By id: the source of each cell of the chapter whose file begins with `number`, "12"."""
    (path,) = files.NOTEBOOKS.glob(f"{number}_*.ipynb")
    page = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in page}


def without_magic(source):
    """A cell's lines below its first one, where that is a magic."""
    return source.partition("\n")[2] if source.startswith("%%") else source
