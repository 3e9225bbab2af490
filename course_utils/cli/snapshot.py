"""`python -m course_utils snapshot FILE`: anybody's memory snapshot as a page in the browser."""

import sys
import webbrowser
from pathlib import Path

from course_utils.core import files
from course_utils.memory.page.page import snapshot_page
from course_utils.memory.snapshots.safe_pickle import SnapshotError

PAGES = files.ROOT / "build" / "snapshots"


def show(
    file: Path, device: int | None = None, out: Path | None = None, in_browser: bool = True
) -> int:
    """Writes the page of a snapshot and opens it; prints where it is. Returns the exit status.

    What is wrong with the file or the device is one line on stderr.
    """
    target = out or PAGES / f"{file.name}.html"
    try:
        if not file.is_file():
            what = "is a folder" if file.is_dir() else "isn't there"
            raise SnapshotError(f"{file} {what}: give the file that _dump_snapshot wrote.")
        if out and out.is_dir():
            target = out / f"{file.name}.html"
        if target.exists() and target.samefile(file):
            raise SnapshotError(f"{out} is the snapshot itself: say --out ANOTHER.html.")
        page = snapshot_page(file, device)
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
