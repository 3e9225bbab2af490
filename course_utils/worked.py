"""The worked solution of an exercise, taken from its notebook to the page that asks for it."""

from pathlib import Path
from typing import Any

from course_utils import files


class Worked:
    """Words and code of a solution; shows itself on a page as Markdown, elsewhere as text."""

    def __init__(self, words: str, code: str) -> None:
        self.words, self.code = words, code

    def _repr_markdown_(self) -> str:
        return f"{self.words}\n\n```python\n{self.code}\n```"

    def __repr__(self) -> str:
        return f"{self.words}\n\n{self.code}"


def worked(exercise: str, notebook: str) -> Worked:
    """The section of `notebook`, a path below the root, that ends in the exercise's check.

    Errors: LookupError where the notebook has no such check.
    """
    import nbformat

    words: list[str] = []
    code: list[str] = []
    for cell in nbformat.read(_path(notebook), as_version=4).cells:
        if cell.cell_type == "markdown":
            words, code = [*([] if _begins_a_section(cell) else words), cell.source], []
        else:
            code.append(cell.source)
            if f'check("{exercise}"' in cell.source:
                return Worked("\n\n".join(words), "\n\n".join(code))
    raise LookupError(f"{notebook} has no solution of {exercise}.")


def _begins_a_section(cell: Any) -> bool:
    return cell.source.lstrip().startswith("#")


def _path(notebook: str) -> Path:
    return files.SOLUTIONS / Path(notebook).name
