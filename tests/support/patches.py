"""Answers as changes of a worked solution: what a learner wrote in place of some of its code."""

import json
import linecache
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from course_utils.core import files

Answer = Callable[..., Any]


@cache
def cells(path: Path) -> list[str]:
    """The code of a notebook's code cells."""
    found = json.loads(path.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


@cache
def solution_of(exercise: str) -> tuple[str, str]:
    """What stands before the first exercise of the notebook with the solution, and the solution."""
    for path in files.SOLUTIONS.glob("*.ipynb"):
        for cell in cells(path):
            if f'check("{exercise}"' in cell:
                return preamble(path), cell.partition("\ncheck(")[0]
    raise LookupError(exercise)


def preamble(path: Path) -> str:
    """The code cells above the first section, without the call of `start`."""
    found = json.loads(path.read_text("utf-8"))["cells"]
    above = takewhile(lambda cell: not "".join(cell["source"]).startswith("## "), found)
    code = ["".join(cell["source"]) for cell in above if cell["cell_type"] == "code"]
    lines = "\n".join(code).splitlines()
    return "\n".join(line for line in lines if not line.startswith("start("))


def function(imports: str, code: str, name: str = "answer") -> Answer:
    """The first function that `code` defines, called `name`. Raises: SyntaxError."""
    file = f"<{name}>"
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    names: dict[str, Any] = {}
    exec(imports, names)
    before = set(names)
    exec(compile(code, file, "exec"), names)
    answer = next(value for key, value in names.items() if key not in before and callable(value))
    answer.__name__ = name
    return answer


def changed(exercise: str, **answers: dict[str, str]) -> list[Answer]:
    """One answer a name: the worked solution with each fragment of it replaced by another.

    Raises: ValueError where a fragment isn't in the solution exactly once.
    """
    imports, solution = solution_of(exercise)
    found = []
    for name, changes in answers.items():
        code = solution
        for old, new in changes.items():
            if (times := code.count(old)) != 1:
                raise ValueError(f"{exercise}, {name}: {old!r} is there {times} times:\n{code}")
            code = code.replace(old, new)
        found.append(function(imports, code, name))
    return found


def by_name(answers: dict[str, list[Answer]]) -> Callable[[str], Answer]:
    """A module's `__getattr__`: it has each answer under its name."""
    found = {one.__name__: one for some in answers.values() for one in some}

    def find(name: str) -> Answer:
        if name in found:
            return found[name]
        raise AttributeError(name)

    return find
