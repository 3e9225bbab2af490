"""`python -m course_utils snapshot FILE`: anybody's memory snapshot as a page in the browser."""

from pathlib import Path

from course_utils.cli import opening
from course_utils.memory.page.page import SnapshotPage, snapshot_page
from course_utils.memory.snapshots.safe_pickle import SnapshotError


def show(
    file: Path, device: int | None = None, out: Path | None = None, in_browser: bool = True
) -> int:
    """Writes the page of a snapshot and opens it; prints where it is. Returns the exit status.

    What is wrong with the file or the device is one line on stderr.
    """

    def make(file: Path) -> SnapshotPage:
        if not file.is_file():
            what = "is a folder" if file.is_dir() else "isn't there"
            raise SnapshotError(f"{file} {what}: give the file that _dump_snapshot wrote.")
        return snapshot_page(file, device)

    return opening.show(file, make, out, "snapshots", in_browser)
