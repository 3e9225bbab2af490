"""A part of the snapshot's page in a notebook, with a still picture for where no kernel runs."""

from course_utils.figures.style import Picture
from snapshots_and_traces.offline.columns import packed
from snapshots_and_traces.offline.page import OfflinePage
from snapshots_and_traces.snapshot_viewer.data import content_of
from snapshots_and_traces.snapshot_viewer.page import SnapshotPage
from snapshots_and_traces.snapshots.lives import History, history
from snapshots_and_traces.snapshots.snapshot import Snapshot


class MemoryView(SnapshotPage):
    """The part `view` of the page, of a snapshot or of one device's history."""

    view = "whole"

    def __init__(self, snapshot: Snapshot | History, title: str = "") -> None:
        self.title = title  # of the still picture; what it shows in words unless given
        self.history = snapshot if isinstance(snapshot, History) else history(snapshot)
        self.words, columns = content_of(self.history)
        self.words["view"] = self.view
        OfflinePage.__init__(self, self.history.name, packed(self.words, columns))

    def _still(self) -> Picture:
        """The view as it begins."""
        raise NotImplementedError

    def stored(self) -> dict[str, str]:
        picture = self._still()
        return picture.bundle(f"[widget] {picture.alt}")
