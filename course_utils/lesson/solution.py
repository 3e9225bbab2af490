"""Shows the worked solution of an exercise, from its notebook, on the page that asks."""

import ast
from pathlib import Path

from course_utils.core import files


class Worked:
    """Words and code of a solution; displays as Markdown on a page, else as text."""

    def __init__(self, words: str, code: str) -> None:
        self.words, self.code = words, code

    def _repr_markdown_(self) -> str:
        return f"{self.words}\n\n```python\n{self.code}\n```"

    def __repr__(self) -> str:
        return f"{self.words}\n\n{self.code}"


def worked(exercise: str, notebook: str) -> Worked:
    """The section of `notebook` (a path relative to the root) that ends in the exercise's check.

    Raises: LookupError if the notebook has no such check.
    """
    import nbformat

    words: list[str] = []
    code: list[str] = []
    earlier: list[str] = []
    path = files.SOLUTIONS / Path(notebook).name
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            begins = cell.source.lstrip().startswith("#")
            words, code = [*([] if begins else words), cell.source], []
        else:
            code.append(cell.source)
            if f'check("{exercise}"' in cell.source:
                text = "\n\n".join(code)
                return Worked("\n\n".join(words), _imports(text, earlier) + text)
            earlier.append(cell.source)
    raise LookupError(f"{notebook} has no solution of {exercise}.")


def _imports(code: str, earlier: list[str]) -> str:
    """The imports of earlier cells that `code` needs, so that it runs where it is pasted."""
    used = {node.id for node in ast.walk(_tree(code)) if isinstance(node, ast.Name)}
    found = []
    for cell in earlier:
        for node in _tree(cell).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                wanted = [one for one in node.names if (one.asname or one.name) in used]
                node.names = wanted
                if wanted and ast.unparse(node) not in code:
                    found.append(ast.unparse(node))
    return "\n".join([*dict.fromkeys(found), "", ""]) if found else ""


def _tree(code: str) -> ast.Module:
    """The parsed code of a cell, without magics."""
    lines = code.splitlines()
    return ast.parse("\n".join(x for x in lines if not x.lstrip().startswith(("%", "!"))))
