"""Reading a pickle that someone else wrote: containers, numbers and text, and nothing that runs.

A pickle is a program for a stack machine, and some of its instructions import and call functions.
Python's unpickler asks a method before it does, and here the answer is always no. What a file can
still do is to claim more memory than there is, to take endless time, or to nest until Python's own
stack is full: `loading` reads a stranger's file in a process that may end so.
Source: "Restricting Globals" in the documentation of Python's pickle module.
"""

import io
import pickle
from typing import IO, Any, NoReturn


class SnapshotError(ValueError):
    """A file that is no snapshot, or more than one; the message is a sentence."""


class _Plain(pickle.Unpickler):
    """Python's unpickler, which imports and calls nothing."""

    def find_class(self, module: str, name: str) -> NoReturn:
        named = f"{module}.{name}"
        named = named if named.isprintable() else "a function or a class"
        raise SnapshotError(f"it asks for {named:.100}, and plain data asks for nothing.")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise SnapshotError("it asks for an object kept elsewhere.")


def read(data: bytes) -> Any:
    """The plain data in a pickle in memory: as `read_file` reads it. Raises: SnapshotError."""
    return read_file(io.BytesIO(data))


def read_file(file: IO[bytes]) -> Any:
    """The plain data in a pickle. Nothing in it runs, but nothing limits what it takes either.

    Raises: SnapshotError, one sentence, for anything else; MemoryError.
    """
    try:
        return _Plain(file).load()
    except (SnapshotError, MemoryError):
        raise
    except Exception as problem:  # a broken program fails in many ways, and each means the same
        raise SnapshotError(
            f"it isn't a whole pickle file ({type(problem).__name__}: {_shown(problem)})."
        ) from None


def _shown(problem: Exception) -> str:
    """The first line of what an error says."""
    return "".join(c if c.isprintable() else "?" for c in str(problem).partition("\n")[0][:150])
