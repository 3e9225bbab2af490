"""Where the notebook shows what ranks display, and what they are at while a cell runs."""

import os
import sys
import threading
from typing import Any

UNATTENDED = "NOTEBOOK_RANKS_UNATTENDED"  # set where nobody watches: nothing is shown in between
LIVE_AFTER_SECONDS = 1.0  # quicker cells have no live area
REDRAW_SECONDS = 0.2
WIDTH = 100  # characters of a line that are shown
MAGIC = "%%ranks"
Bundle = dict[str, Any]


def frontend() -> Any:
    """The shell of a notebook that somebody watches, which can show pictures; None elsewhere."""
    ipython = sys.modules.get("IPython")
    if ipython is None or UNATTENDED in os.environ:
        return None
    shell = ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None


def publish(shell: Any, shown: Bundle, label: str) -> None:
    """Shows a bundle in the cell; an identified one may be updated later."""
    known = {"transient": {"display_id": f"{label} {shown['id']}"}} if shown["id"] else {}
    shell.display_pub.publish(shown["data"], shown["metadata"], update=shown["update"], **known)


class Area:
    """A few lines in a running cell, drawn again and again, and gone when it ends.

    A cell's outputs can only be cleared together, so there is one only in a cell that is all ours.
    """

    def __init__(self) -> None:
        self._shell = frontend()
        self.allowed = self._shell is not None and _is_ours(self._shell)
        self._id, self._text, self._drawn = "", "", 0.0

    def due(self, seconds: float) -> bool:
        """Whether it may be drawn, at `seconds` after the cell began."""
        return self.allowed and seconds > max(LIVE_AFTER_SECONDS, self._drawn + REDRAW_SECONDS)

    def draw(self, text: str, seconds: float) -> None:
        """Shows this text."""
        if text == self._text:
            return
        shown = {"data": {"text/plain": text}, "metadata": {}, "update": bool(self._id)}
        self._id = self._id or os.urandom(8).hex()
        publish(self._shell, {**shown, "id": self._id}, "ranks")
        self._text, self._drawn = text, seconds

    @property
    def there(self) -> bool:
        """Whether it can be seen now."""
        return bool(self._id)

    def clear_cell(self, wait: bool) -> None:
        """Takes the area and all else from the cell; with `wait`, when the next output comes."""
        self._shell.display_pub.clear_output(wait=wait)
        self._id, self._text = "", ""


def _is_ours(shell: Any) -> bool:
    """Whether the cell that runs is a `%%ranks` cell.

    In a thread, only ipykernel 7 knows for which cell it works; an older one clears another.
    """
    if threading.current_thread() is not threading.main_thread():
        ipykernel = sys.modules["ipykernel"]
        if ipykernel.version_info[0] < 7:
            return False
    parent: Bundle = getattr(shell, "get_parent", dict)()  # old kernels have none
    code = (parent or {}).get("content", {}).get("code", "")
    return str(code).lstrip().startswith(MAGIC)


def last_lines(text: str) -> list[str]:
    """The last two lines that aren't empty, as a terminal shows them: the last state of each."""
    lines = [as_it_stands(line)[:WIDTH] for line in text.split("\n")]
    return [line for line in lines if line.strip()][-2:]


def as_it_stands(line: str) -> str:
    """What is left of a line that was written over: what comes after its last carriage return."""
    return line.rstrip("\r").rpartition("\r")[2]
