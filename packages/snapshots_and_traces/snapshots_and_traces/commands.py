"""`snapshot FILE` and `trace FILE`: a stranger's file in words, as a page, or why not in a line."""

import argparse
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snapshots_and_traces.offline.page import OfflinePage
from snapshots_and_traces.snapshot_viewer.page import SnapshotPage, snapshot_page
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.trace_viewer.page import trace_page
from snapshots_and_traces.traces.reading import TraceError, read_trace
from snapshots_and_traces.traces.report import summary


def show_snapshot(
    file: Path,
    device: int | None,
    before: Path | None,
    out: Path | None,
    folder: Path,
    in_browser: bool,
) -> int:
    """Writes the page of a snapshot and opens it; prints where it is. Returns the exit status.

    With a snapshot from `before`, the page shows what grew since. What is wrong with a file or the
    device is one line on stderr.
    """

    def make(file: Path) -> SnapshotPage:
        for one in (file, before or file):
            if not one.is_file():
                what = "is a folder" if one.is_dir() else "isn't there"
                raise SnapshotError(f"{one} {what}: give the file that _dump_snapshot wrote.")
        return snapshot_page(file, device, before)

    return _show(file, make, out, folder, in_browser)


def show_trace(file: Path, out: Path | None, folder: Path, in_browser: bool) -> int:
    """Writes the page of a trace and opens it; prints where it is. Returns the exit status.

    What is wrong with the file is one line on stderr.
    """
    return _show(file, trace_page, out, folder, in_browser)


def tell_trace(file: Path, by_step: bool = False) -> int:
    """Prints what a trace says, within a screen. Returns the exit status.

    What is wrong with the file is one line on stderr.
    """
    try:
        print(f"{file.name}: {_told(file, by_step)}")
    except TraceError as problem:
        print(problem, file=sys.stderr)
    except OSError as problem:
        print(f"{problem.filename or file}: {problem.strerror or problem}.", file=sys.stderr)
    else:
        return 0
    return 1


def _told(file: Path, by_step: bool) -> str:
    trace = read_trace(file)
    try:
        return summary(trace, by_step)
    except TraceError as problem:
        raise TraceError(f"{file.name}: {problem}") from None


def _show(
    file: Path,
    make: Callable[[Path], OfflinePage],
    out: Path | None,
    folder: Path,
    in_browser: bool,
) -> int:
    """Writes the page that `make` makes of a file and opens it; prints what and where it is.

    It goes to `out`, a file or a folder, else to `folder`. Returns the exit status; what is wrong,
    a ValueError or an OSError, is one line on stderr.
    """
    target = out or folder / f"{file.name}.html"
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


def add_to(commands: Any, folders: dict[str, Path], shown: str) -> None:
    """Adds `snapshot` and `trace` to a parser's commands; each sets `run(options)`.

    Pages go to `folders["snapshot"]` and `folders["trace"]`; `shown` says where that is.
    """

    def command(name: str, text: str, what: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(name, help=text)
        made.add_argument("file", type=Path, help=what)
        made.add_argument("--out", type=Path, help=f"where the page goes (default: {shown})")
        made.add_argument("--no-open", action="store_true", help="only write the page")
        return made

    def run_snapshot(options: argparse.Namespace) -> int:
        where = folders["snapshot"]
        return show_snapshot(
            options.file,
            options.device,
            options.since,
            options.out,
            where,
            not options.no_open,
        )

    def run_trace(options: argparse.Namespace) -> int:
        if options.page or options.out or options.no_open:
            return show_trace(options.file, options.out, folders["trace"], not options.no_open)
        return tell_trace(options.file, options.steps)

    snapshot = command(
        "snapshot",
        "show anybody's memory snapshot in a browser",
        "what torch.cuda.memory._dump_snapshot wrote",
    )
    snapshot.add_argument("--device", type=int, metavar="N", help="the one to show first")
    snapshot.add_argument("--since", type=Path, metavar="EARLIER", help="and show what grew since")
    snapshot.set_defaults(run=run_snapshot)
    trace = command(
        "trace",
        "say where the time of anybody's profiler trace went, or show it",
        "what torch.profiler's export_chrome_trace wrote",
    )
    trace.add_argument("--steps", action="store_true", help="by step too")
    trace.add_argument("--page", action="store_true", help="show it in a browser instead")
    trace.set_defaults(run=run_trace)
