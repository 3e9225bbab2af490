"""A stranger's file as a page in the browser: where the page goes, and what is wrong in a line."""

import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path

from course_utils.core import files
from course_utils.figures.offline.page import OfflinePage


def show(
    file: Path, make: Callable[[Path], OfflinePage], out: Path | None, kept: str, in_browser: bool
) -> int:
    """Writes the page that `make` makes of a file and opens it; prints what and where it is.

    It goes to `out`, a file or a folder, else to build/`kept`. Returns the exit status; what is
    wrong, a ValueError or an OSError, is one line on stderr.
    """
    target = out or files.ROOT / "build" / kept / f"{file.name}.html"
    try:
        if out and out.is_dir():
            target = out / f"{file.name}.html"
        if target.exists() and file.exists() and target.samefile(file):
            raise ValueError(f"{out} is the file itself: say --out ANOTHER.html.")
        page = make(file)
        path = page.save(target).resolve()
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"{problem.filename or file}: {problem.strerror or problem}.", file=sys.stderr)
        return 1
    print(page)
    print(f"Open in a browser: {path}")
    if in_browser:
        webbrowser.open(path.as_uri())
    return 0
