"""`snapshot FILE` and `trace FILE`: a stranger's file in words, as a page, or why not in a line."""

import argparse
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snapshots_and_traces.offline.page import OfflinePage
from snapshots_and_traces.snapshot_viewer.page import snapshot_page
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.trace_viewer.page import trace_page
from snapshots_and_traces.traces.comparing import compare
from snapshots_and_traces.traces.reading import TraceError, read_trace
from snapshots_and_traces.traces.report import summary


def add_to(commands: Any, folders: dict[str, Path], shown: str) -> None:
    """Adds `snapshot` and `trace` to a parser's commands; each sets `run(options)`.

    Pages go to `folders["snapshot"]` and `folders["trace"]`; `shown` says where that is. `run`
    returns the exit status; what is wrong with a file is one line on stderr.
    """

    def command(
        name: str, does: Callable[[argparse.Namespace, Path], None], text: str, what: str
    ) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(name, help=text)
        made.add_argument("file", type=Path, help=what)
        made.add_argument("--out", type=Path, help=f"where the page goes (default: {shown})")
        made.add_argument("--no-open", action="store_true", help="only write the page")
        made.set_defaults(run=lambda options: _status(does, options, folders[name]))
        return made

    snapshot = command(
        "snapshot",
        _snapshot,
        "show anybody's memory snapshot in a browser",
        "what torch.cuda.memory._dump_snapshot wrote",
    )
    snapshot.add_argument("--device", type=int, metavar="N", help="the one to show first")
    snapshot.add_argument("--since", type=Path, metavar="EARLIER", help="and show what grew since")
    trace = command(
        "trace",
        _trace,
        "say where the time of anybody's profiler trace went, or show it",
        "what torch.profiler's export_chrome_trace wrote",
    )
    trace.add_argument("other", type=Path, nargs="?", help="and say what changed from FILE to it")
    trace.add_argument("--steps", action="store_true", help="by step too")
    trace.add_argument("--page", action="store_true", help="show it in a browser instead")


def _status(
    does: Callable[[argparse.Namespace, Path], None], options: argparse.Namespace, folder: Path
) -> int:
    try:
        does(options, folder)
    except ValueError as problem:
        print(problem, file=sys.stderr)
    except BrokenPipeError:
        raise
    except OSError as problem:
        print(
            f"{problem.filename or options.file}: {problem.strerror or problem}.", file=sys.stderr
        )
    else:
        return 0
    return 1


def _snapshot(options: argparse.Namespace, folder: Path) -> None:
    """Shows a page; with `--since`, it says what grew since that snapshot."""
    for file in (options.file, options.since or options.file):
        if not file.is_file():
            what = "is a folder" if file.is_dir() else "isn't there"
            raise SnapshotError(f"{file} {what}: give the file that _dump_snapshot wrote.")
    target = _target(options, folder)
    _show(snapshot_page(options.file, options.device, options.since), target, options)


def _trace(options: argparse.Namespace, folder: Path) -> None:
    """Prints what a trace says, within a screen, or what changed to another; or shows its page."""
    if options.other:
        return _compared(options)
    if options.page or options.out or options.no_open:
        target = _target(options, folder)
        return _show(trace_page(options.file), target, options)
    trace = read_trace(options.file)
    try:
        print(f"{options.file.name}: {summary(trace, options.steps)}")
    except TraceError as problem:
        raise TraceError(f"{options.file.name}: {problem}") from None


def _compared(options: argparse.Namespace) -> None:
    """Prints what changed from one trace to another. Raises: ValueError, OSError."""
    if options.page or options.out or options.no_open or options.steps:
        raise ValueError("What changed between two traces is said in words: give no option.")
    traces = [read_trace(file) for file in (options.file, options.other)]
    try:
        changed = compare(*traces)
    except TraceError as problem:
        raise TraceError(f"{options.file.name} or {options.other.name}: {problem}") from None
    print(f"What changed from {options.file.name} to {options.other.name}:\n{changed}")


def _target(options: argparse.Namespace, folder: Path) -> Path:
    """The path of the page: `--out`, a file or a folder, else to `folder`.

    Raises: ValueError where that is the file itself; OSError.
    """
    out, file = options.out, options.file
    if out is None or out.is_dir():
        return Path(out or folder) / f"{file.name}.html"
    if out.exists() and file.exists() and out.samefile(file):
        raise ValueError(f"{out} is the file itself: say --out ANOTHER.html.")
    return Path(out)


def _show(page: OfflinePage, target: Path, options: argparse.Namespace) -> None:
    path = page.save(target).resolve()
    print(page)
    print(f"Open in a browser: {path}")
    if not options.no_open:
        webbrowser.open(path.as_uri())
