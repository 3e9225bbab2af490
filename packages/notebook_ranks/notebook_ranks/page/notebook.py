"""Things of the notebook that a cell of ranks needs: IPython's words, names, its number."""

import linecache
import re
import symtable
import sys
from types import ModuleType
from typing import Any

from notebook_ranks.cells import cell, place, shell
from notebook_ranks.watch import report
from notebook_ranks.watch.report import RankError, RanksError

LACKING = re.compile(r"NameError: name '(\w+)' is not defined")


def readable(source: str, filename: str) -> str:
    """The source as Python, IPython's % and ! written out. Raises: RankError for anything else."""
    try:
        cell.compiled(source, filename)
        return source
    except SyntaxError as error:
        translated = shell.as_python(source)
        try:
            cell.compiled(translated, filename)
        except SyntaxError:
            raise RankError(report.unreadable(error)) from None
        return translated


def advice(message: str, lost: int) -> str:
    """Advice about a name that the ranks lack, on lines of its own; "" for anything else.

    The first cells for ranks, as many as `lost`, ran on ranks that these have replaced.
    """
    lacking = LACKING.search(message)
    if lacking is None:
        return ""
    name, mine, gone = lacking[1], vars(sys.modules["__main__"]), ""
    if cells := _naming(name, lost):
        gone = f"`{name}` went with the ranks that were there before: run {cells[-1]} again."
    if name not in mine:
        told = ""
    elif isinstance(mine[name], ModuleType):
        told = f"`{name}` is imported in the notebook: import it in a %%ranks cell too."
    else:
        told = f"`{name}` is the notebook's; ranks.push({name}={name}) gives it to every rank."
    return "".join(f"\n{line}" for line in (gone, told) if line)


def _naming(name: str, last: int) -> list[str]:
    """The cells that give a value to a name, among the first `last` cells for ranks."""
    found = (place.file_of(number) for number in range(1, last + 1))
    return [place.label(file) for file in found if name in names_given(place.source(file))]


def names_given(source: str) -> set[str]:
    """The names to which a cell gives a value; none where it isn't Python, or begins with %%."""
    try:
        table = symtable.symtable(shell.as_python(source), "", "exec")
    except SyntaxError:
        return set()
    made = (s for s in table.get_symbols() if s.is_assigned() or s.is_imported())
    return {symbol.get_name() for symbol in made}


def need(device: str | None) -> None:
    """Raises: RanksError where ranks can't be started here, with what to do about it."""
    if place.folder_is_gone():
        raise RanksError(
            "The notebook's working folder was deleted, and ranks start in it. Make it again, or "
            "go to another one: os.chdir(...)."
        )
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise RanksError("--device cuda needs a GPU, and torch sees none here; leave it out.")


def sources(function: Any) -> dict[str, tuple[str, str]]:
    """The file of a function: all of its lines, and what a reader calls it."""
    if not hasattr(function, "__code__"):
        return {}
    name = function.__code__.co_filename
    return {name: ("".join(linecache.getlines(name)), called(name))}


def called(filename: str) -> str:
    """`In [7]` for the file of a notebook's cell, "" where IPython doesn't tell."""
    here = running()
    known = getattr(getattr(here, "compile", None), "_filename_map", {})
    return f"In [{known[filename]}]" if filename in known else ""


def called_now() -> str:
    """The same for the cell that runs now."""
    here = running()
    return f"In [{here.execution_count}]" if here else ""


def running() -> Any:
    """IPython's shell in this process, None where there is none."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
