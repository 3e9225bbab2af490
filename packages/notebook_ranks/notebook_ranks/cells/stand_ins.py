"""Stand-ins for what a rank lacks: a keyboard, a file for its classes, a free port."""

import ast
import builtins
import inspect
import sys
from typing import Any, NoReturn

from notebook_ranks.cells import place

Namespace = dict[str, Any]


def install() -> None:
    """In a rank, once."""
    builtins.input = _input
    _usual_file = inspect.getfile

    def getfile(thing: Any) -> str:
        found = _cell_of(thing) if isinstance(thing, type) else None
        return found or _usual_file(thing)

    vars(inspect)["getfile"] = getfile


def _input(_prompt: object = "") -> NoReturn:
    raise EOFError(
        "nobody can type on a rank. Ask in a cell of the notebook, answer = input(), and "
        "ranks.push(answer=answer) gives it to every rank."
    )


def _cell_of(kind: type) -> str | None:
    """The last cell that defined a class of the reader's, for `inspect.getsource`."""
    if kind.__module__ != "__main__":
        return None
    name = kind.__qualname__.rpartition(".")[2]
    for filename in reversed(list(place.CELLS)):
        if f"class {name}" in place.source(filename):
            return filename
    return None


def stores_made(source: str) -> list[str]:
    """The names that a cell gives to the TCPStores that it makes."""
    if "TCPStore(" not in source:
        return []
    made = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assign)]
    made = [node for node in made if "TCPStore(" in ast.unparse(node.value)]
    return [each.id for node in made for each in node.targets if isinstance(each, ast.Name)]


def release(made: list[str], names: Namespace) -> None:
    """Lets go of the stores that a cell is about to make again: an old one holds its port."""
    stores = getattr(sys.modules.get("torch.distributed"), "TCPStore", ())
    for name in made:
        if isinstance(names.get(name), stores):
            del names[name]


def explain(error: BaseException, names: Namespace) -> None:
    """Adds to an error what matters only on ranks: who holds a port, where the folder went."""
    if isinstance(error, FileNotFoundError) and place.folder_is_gone():
        error.add_note("The ranks' working folder was deleted: make it again, and ranks.restart().")
    stores = getattr(sys.modules.get("torch.distributed"), "TCPStore", ())
    if "_cuda_setDevice" in str(error):
        error.add_note("This line asks for a GPU, and torch has none here: leave it out.")
    if "EADDRINUSE" in str(error):
        for name, value in names.items():
            if isinstance(value, stores) and str(value.port) in str(error):
                error.add_note(f"This rank's own `{name}` still holds it: del {name}, then again.")
