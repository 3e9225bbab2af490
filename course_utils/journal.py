"""What a run said, a JSON line each: what `make test` reports by chapter."""

import json
import os
from typing import Any

JOURNAL = "COURSE_JOURNAL"  # the file to append to; nothing is kept where it isn't set
CHAPTER = "COURSE_CHAPTER"  # the chapter that runs, set by `start`


def note(kind: str, **what: Any) -> None:
    """Appends one line of `kind` for the chapter that runs; several kernels may write at once.

    Does nothing outside a chapter, or where no journal is asked for.
    """
    path, chapter = os.environ.get(JOURNAL), os.environ.get(CHAPTER)
    if not path or not chapter:
        return
    line = json.dumps({"kind": kind, "chapter": chapter, **what}, ensure_ascii=False) + "\n"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)
