"""A memory snapshot as one HTML file that needs no network, and as an object of a notebook.

The page draws; what it says is worked out here. All of the file's own words travel inside one
compressed piece in base64 and are shown as text, so that none of them can be taken for HTML.
"""

import sys
from os import PathLike
from pathlib import Path
from typing import Any

from snapshots_and_traces.offline.columns import packed
from snapshots_and_traces.offline.page import OfflinePage
from snapshots_and_traces.snapshot_viewer.data import content
from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.snapshots.snapshot import Snapshot, snapshot_of
from snapshots_and_traces.units import size_text

RECORDING = (
    "Call torch.cuda.memory._record_memory_history() before the work and "
    "torch.cuda.memory._dump_snapshot(path) after it."
)


class SnapshotPage(OfflinePage):
    """The page of a snapshot: shows itself in a notebook; `save(path)` writes it as one file.

    A notebook stores one line of text for it. `device` is the one that it shows first; with a
    snapshot from `before`, it says what grew.
    """

    what = "memory snapshot"
    finds = "find events by name, address or call stack"
    folder = Path(__file__).parent
    scripts = "data.js", "icicle.js", "page.js"

    def __init__(
        self, snapshot: Snapshot, device: int | None = None, before: Snapshot | None = None
    ) -> None:
        require_events(snapshot)
        self.words, columns = content(snapshot, device, before)
        super().__init__(snapshot.name, packed(self.words, columns))

    def __repr__(self) -> str:
        devices = self.words["devices"]
        first = devices[self.words["first"]]
        own = sum(not one["earlier"] for one in devices)
        which = f"device {first['number']} of {own}. " if own > 1 else ""
        grew = ""
        if self.words.get("grown"):
            (_, *every), (site, *most) = self.words["grown"][:2]
            grew = f" Since {self.words['names'][0]}, {_more(*every)} is held at the peak in all; "
            grew += f"{site}: {_more(*most)}."
        return f"[snapshot] {self.name}: {which}{first['sentence']}{grew}"


def _more(before: int, after: int) -> str:
    return f"{size_text(abs(after - before))} {'less' if after < before else 'more'}"


Source = str | PathLike[str] | dict[str, Any] | Snapshot


def snapshot_page(
    snapshot: Source, device: int | None = None, before: Source | None = None
) -> SnapshotPage:
    """The page of a snapshot: its file, the snapshot read, or what `cuda.memory._snapshot()` gives.

    Nothing in a file is ever run. `device` is the one that the page shows first; with another
    snapshot, from `before`, the page shows what grew since.
    Raises: SnapshotError, a ValueError with one sentence, for a file that is no snapshot or has no
    events; ValueError for a device that isn't there; OSError where there is no file to read.
    """
    return SnapshotPage(_read(snapshot), device, None if before is None else _read(before))


def _read(source: Any) -> Snapshot:
    if isinstance(source, Snapshot):
        return source
    return _of_dict(source) if isinstance(source, dict) else load(source)


def _of_dict(content: dict[str, Any]) -> Snapshot:
    try:
        return snapshot_of(content, sys.maxsize, "the dict")
    except SnapshotError as problem:
        raise SnapshotError(f"the dict is refused: {problem}") from None


def require_events(snapshot: Snapshot) -> None:
    """Raises: SnapshotError where there is nothing to show.

    A device with memory and no events can be shown where another has events.
    """
    if not any(len(trace) for trace in snapshot.traces):
        held = sum(s.total_size for s in snapshot.all_segments)
        also = f", only {size_text(held)} that are held" if held else ""
        raise SnapshotError(f"{snapshot.name} has no events{also}: nothing to show. {RECORDING}")
