"""What the memory views share: a history in the kernel, a page that asks, a picture for neither."""

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from course_utils.figures.style import Picture
from snapshots_and_traces.snapshots.lives import History, history
from snapshots_and_traces.snapshots.snapshot import Snapshot

HERE = Path(__file__).parent


def script(name: str) -> str:
    """A view's own script after the one that all views share, as one module."""
    return (HERE / "view.js").read_text() + (HERE / name).read_text()


class MemoryView(anywidget.AnyWidget):
    """A view of a snapshot, or of one device's history.

    The page sends requests (`action`); what is to be shown goes back as words (`state`) and, where
    it is much, as numbers (`data`). Nothing is fetched from anywhere.
    """

    _css = HERE / "view.css"
    action = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    data = traitlets.Bytes().tag(sync=True)

    def __init__(self, snapshot: Snapshot | History) -> None:
        super().__init__()
        self.history = snapshot if isinstance(snapshot, History) else history(snapshot)
        self.picked: list[str] = []
        self._begin()
        self._tell(0, "")
        self.observe(self._act, "action")

    def _begin(self) -> None:
        """Sets what the view starts with."""

    def _words(self) -> dict[str, Any]:
        """What the page shows as text and marks."""
        raise NotImplementedError

    def _numbers(self) -> bytes:
        """What the page draws."""
        return b""

    def _still(self) -> Picture:
        """The view as it begins, for pages without a kernel."""
        raise NotImplementedError

    def _act(self, change: Any) -> None:
        request, problem = change["new"], ""
        try:
            getattr(self, f"do_{request['do']}")(request["with"])
        except (ValueError, IndexError) as wrong:
            problem = str(wrong)
        self._tell(request["count"], problem)

    def _tell(self, answered: int, problem: str) -> None:
        words = {**self._words(), "picked": self.picked, "answered": answered, "problem": problem}
        numbers = self._numbers()
        with self.hold_sync():
            self.data = numbers
            self.state = words

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        picture = self._still()
        return bundle | picture.bundle(f"[widget] {picture.alt}"), metadata
