"""A page's run: whether a person watches, a progress bar, a quiet import, a journal for tests."""

import json
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

UNATTENDED = "COURSE_UNATTENDED"  # set by what runs notebooks by itself, and by the tests
JOURNAL = "COURSE_JOURNAL"  # the file to append to; nothing is kept where it isn't set
CHAPTER = "COURSE_CHAPTER"  # the chapter that runs, set by `start`

T = TypeVar("T")
step = ""  # what a long cell is at, such as ", round 3 of 9", for the line that says so


def is_attended() -> bool:
    """True unless `normalise`, `record`, `demo` or pytest runs the page."""
    return not (os.environ.get(UNATTENDED) or os.environ.get("PYTEST_VERSION"))


def bar(steps: Iterable[T], what: str = "") -> Iterator[T]:
    """Iterates over the steps under a progress bar that appears after a second.

    Shows no bar if nobody watches, so that stored outputs stay the same.
    """
    if not is_attended():
        yield from steps
        return
    from tqdm.auto import tqdm

    with tqdm(steps, desc=what, leave=False, delay=1) as shown:
        yield from shown


@contextmanager
def quiet_logs(level: int) -> Iterator[None]:
    """Inside the block, nothing of this level or below is logged."""
    before = logging.root.manager.disable
    logging.disable(level)
    try:
        yield
    finally:
        logging.disable(before)


def quiet_import(name: str) -> ModuleType:
    """Imports a module without what it and torch log while loading, and returns it.

    torchao warns of each kernel that it has for another GPU or another build of torch.
    Raises: ModuleNotFoundError, naming the module.
    """
    with quiet_logs(logging.WARNING):
        return import_module(name)


def note(kind: str, **what: Any) -> None:
    """Appends one line to the journal; several kernels may write at once.

    Does nothing outside a chapter, or if no journal is set.
    """
    path, chapter = os.environ.get(JOURNAL), os.environ.get(CHAPTER)
    if not path or not chapter:
        return
    line = json.dumps({"kind": kind, "chapter": chapter, **what}, ensure_ascii=False) + "\n"
    with open(path, "ab", buffering=0) as journal:
        journal.write(line.encode())
