"""The traceback of a cell that failed: short, each line with its cell, and what caused it."""

import os
import sys
import threading
import traceback
import types
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from notebook_ranks.cells import place

MOST = 14  # lines; of more, the first and the last are kept
CAUSES = 5
FOLDED = "    … "
LIBRARY = os.path.dirname(os.__file__) + os.sep  # Python's own
Step = tuple[str, str]  # a library's name, or "" and the line that is told


def lines(error: BaseException, own: str = "") -> list[str]:
    """The frames of an error that are a reader's, and those of what caused it.

    Each member of an exception group is reported. Where the error itself has one such frame, it is
    in the message already. A library's frames in a row are one line. Lines of `own`, the file of
    the cell that runs, stand without its name: it changes when a cell is inserted above.
    """
    told: list[str] = []
    for link, one in _causes(error):
        if link:
            message = (str(one) or " ").splitlines()[0]
            told.append(f"  {link} {type(one).__name__}: {message}")
        frames = [*_frames(one.__traceback__, own)]
        if link or sum(not text.startswith(FOLDED) for text in frames) > 1:
            told += frames
    if len(told) > MOST:
        left_out = len(told) - MOST + 1
        told[MOST // 2 : MOST // 2 + left_out] = [f"{FOLDED}{left_out} more lines"]
    return told


def _causes(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    """The error, the members of a group, and what it was raised from or while handling."""
    link, one = "", error
    for _ in range(CAUSES):
        yield link, one
        members = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        for number, member in enumerate(members, start=1):
            own = f"{number} of {len(members)}:"
            yield from ((behind or own, part) for behind, part in _causes(member))
        context = None if one.__suppress_context__ else one.__context__
        behind, link = one.__cause__ or context, "caused by" if one.__cause__ else "while handling"
        if behind is None:
            return
        one = behind


def install() -> None:
    """In a rank: what programs print of an error shows no line of this package."""
    own = traceback.TracebackException.__init__

    def init(self: traceback.TracebackException, *args: Any, **kwargs: Any) -> None:
        own(self, *args, **kwargs)
        kept = [step for step in self.stack if not place.is_this_package(step.filename)]
        self.stack[:] = kept

    vars(traceback)["TracebackException"].__init__ = init
    threading.excepthook = _thread_failed  # its own doesn't ask that module


def _thread_failed(args: Any) -> None:
    if args.exc_type is not SystemExit and sys.stderr is not None:
        name = args.thread.name if args.thread else threading.get_ident()
        print(f"Exception in thread {name}:", file=sys.stderr)
        traceback.print_exception(args.exc_type, args.exc_value, args.exc_traceback)


def _frames(trace: types.TracebackType | None, own: str) -> Iterator[str]:
    """The frames from the first line of a cell inwards."""
    while trace is not None and trace.tb_frame.f_code.co_filename not in place.CELLS:
        trace = trace.tb_next
    for library, steps in groupby(_steps(trace, own), key=lambda step: step[0]):
        if library:
            count = len(list(steps))
            yield f"{FOLDED}{count} frame{'s' * (count > 1)} in {library}"
        else:
            yield from _folded(text for _, text in steps)


def _folded(texts: Iterable[str]) -> Iterator[str]:
    """Lines, each that is repeated in a row said once, with how often it comes again."""
    for text, same in groupby(texts):
        yield text
        if again := len(list(same)) - 1:
            yield f"{FOLDED}and {again} times more"


def _steps(trace: types.TracebackType | None, own: str) -> Iterator[Step]:
    while trace is not None:
        code, line = trace.tb_frame.f_code, trace.tb_lineno
        library = _library(code.co_filename)
        if not place.is_this_package(code.co_filename):
            name = "" if code.co_name == "<module>" else f", in {code.co_name}"
            text = place.text(code.co_filename, line)
            cell = "" if code.co_filename == own else f"{place.label(code.co_filename)}, "
            yield library, f"    {cell}line {line}{name}: {text}"
        trace = trace.tb_next


def _library(filename: str) -> str:
    """The name of the library that a file is of, "" for a reader's own."""
    _, installed, inner = filename.rpartition(f"site-packages{os.sep}")
    if installed:
        return inner.partition(os.sep)[0].removesuffix(".py")
    return "Python" if filename.startswith((LIBRARY, "<frozen ")) else ""
