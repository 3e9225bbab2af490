"""Prints what the ranks print: rank by rank, in order, the first one live.

Where somebody watches, a small area shows what the others are at meanwhile.
"""

import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

from notebook_ranks.page import notebook
from notebook_ranks.watch.report import names

UNATTENDED = "NOTEBOOK_RANKS_UNATTENDED"  # set where nobody watches: nothing is shown in between
LIVE_AFTER_SECONDS = 1.0  # quicker cells have no live area
REDRAW_SECONDS = 0.2
WIDTH = 100  # characters of a line that are shown
MAGIC = "%%ranks"
Bundle = dict[str, Any]
Piece = tuple[str, str]  # the stream's name and what was written to it
TAIL_CHARS = 2_000  # so much of a rank's text is looked at for its last lines
MANY_RANKS = 8  # more than these have one line each in the live area
MOST_RANKS = 32


class Printer:
    """Prints each rank's output under its name once all ranks before it have finished."""

    def __init__(self, ranks: Iterable[int]) -> None:
        self._waiting = sorted(ranks)
        self.pieces: dict[int, list[Piece]] = {rank: [] for rank in self._waiting}
        self._printed: dict[int, int] = defaultdict(int)  # how many of the pieces
        self._finished: set[int] = set()
        self._begun: dict[str, str] = {}  # an unfinished line for each stream
        self._log: list[tuple[int, str, str]] = []  # what was printed, rank by rank
        self.overheard: dict[int, str] = defaultdict(str)  # what programs wrote, added later
        self._area = Area()
        self._held = False  # all that comes is printed with the rest, once the area goes

    def add(self, rank: int, stream: str, text: str) -> None:
        """A rank wrote something: text, a bundle as JSON ("display"), or "clear"."""
        if stream == "clear":
            self._clear(rank, wait=bool(text))
        elif text:
            self.pieces[rank].append((stream, text))
        if rank not in self._waiting[1:]:  # also what a rank says that has finished
            self._print_new(rank)

    def say(self, text: str) -> None:
        """Prints a line of the notebook's own."""
        self._emit(-1, "stdout", f"{text}\n")

    def refresh(self, seconds: float) -> None:
        """Shows what isn't printed yet, `seconds` after the cell began."""
        if self._area.due(seconds):
            text = self._unprinted()
            if text:
                self._area.draw(text, seconds)

    def finish(self, rank: int) -> None:
        """A rank will write nothing more in this cell."""
        self._finished.add(rank)
        self._held = self._area.there and self._finished == set(self.pieces)
        while self._waiting and self._waiting[0] in self._finished:
            first = self._waiting.pop(0)
            self._print_new(first)
            self._end_lines(first)
            if self._waiting:
                self._print_new(self._waiting[0])

    def finish_all(self) -> None:
        """Prints everything that is left; the area is gone."""
        for rank in list(self._waiting):
            self.finish(rank)
        if self._area.there:
            self._print_again()

    def _print_new(self, rank: int) -> None:
        new = self.pieces[rank][self._printed[rank] :]
        self._printed[rank] += len(new)
        for stream, text in new:
            if stream == "display":
                self._end_lines(rank)
                self._emit(rank, stream, text)
                continue
            *lines, rest = (self._begun.pop(stream, "") + text).split("\n")
            self._print(rank, stream, lines)
            if rest:
                self._begun[stream] = rest

    def _end_lines(self, rank: int) -> None:
        for stream, line in self._begun.items():
            self._print(rank, stream, [line])
        self._begun.clear()

    def _print(self, rank: int, stream: str, lines: list[str]) -> None:
        text = "".join(f"[rank {rank}] {as_it_stands(line)}\n" for line in lines)
        if text:
            self._emit(rank, stream, text)

    def _emit(self, rank: int, stream: str, text: str) -> None:
        self._log.append((rank, stream, text))
        if not self._held:
            _show(stream, text, f"[rank {rank}]")

    def _clear(self, rank: int, wait: bool) -> None:
        """Takes back what a rank has shown; what is printed only where a cell can be cleared."""
        if not self._printed[rank]:
            self.pieces[rank].clear()
        elif self._area.allowed:
            self.pieces[rank].clear()
            self._printed[rank] = 0
            self._begun.clear()
            self._log = [piece for piece in self._log if piece[0] != rank]
            self._print_again(wait)

    def _print_again(self, wait: bool = False) -> None:
        """The cell's outputs anew, without the area."""
        self._area.clear_cell(wait=wait or bool(self._log))
        for stream, pieces in groupby(self._log, key=itemgetter(1)):
            if stream == "display":
                for rank, _, text in pieces:
                    _show(stream, text, f"[rank {rank}]")
            else:
                _show(stream, "".join(text for _, _, text in pieces))

    def _unprinted(self) -> str:
        """The last lines of each rank that aren't printed: one or two for each."""
        count = 1 if len(self.pieces) > MANY_RANKS else 2
        lines = []
        for rank in self._waiting[:MOST_RANKS]:
            heard = self.overheard[rank][-TAIL_CHARS:]
            out = last_lines(self._tail(rank, "stdout") + heard)
            err = last_lines(self._tail(rank, "stderr"))
            shown = out[-1:] + err[-1:] if out and err else out or err
            lines += [f"[rank {rank}] {line}" for line in shown[-count:]]
        return "\n".join(lines)

    def _tail(self, rank: int, stream: str) -> str:
        """The end of what a rank wrote to a stream and what isn't printed."""
        begun = self._begun.get(stream, "") if rank == self._waiting[0] else ""
        pieces = self.pieces[rank]
        new = pieces[max(self._printed[rank], len(pieces) - TAIL_CHARS) :]
        return (begun + "".join(text for name, text in new if name == stream))[-TAIL_CHARS:]


def _show(stream: str, text: str, label: str = "") -> None:
    """Writes to the notebook's stream, or shows a bundle: as its text where there are no pictures.

    A bundle that may be updated is known by its label, as other ranks may use the same name;
    without a label it is shown anew.
    """
    if stream != "display":
        target = sys.stderr if stream == "stderr" else sys.stdout
        target.write(text)
        target.flush()
        return
    shown, shell = json.loads(text), frontend()
    if shell is None:
        plain = str(shown["data"].get("text/plain", "(it has no text)"))
        before = f"{label} " if label else ""
        _show("stdout", "".join(f"{before}{line}\n" for line in plain.split("\n")))
        return
    if not label:
        shown |= {"update": False, "id": None}
    elif not shown["update"]:
        _show("stdout", f"{label}\n")
    publish(shell, shown, label)


class Shown:
    """The output of a rank in a cell: `text`, and `displays`, each by media type."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = list(pieces)

    @property
    def text(self) -> str:
        """All that it printed, to stdout and stderr, as it came."""
        return "".join(text for stream, text in self._pieces if stream != "display")

    @property
    def displays(self) -> list[Bundle]:
        """The data of its figures, HTML and the like; pictures are in base64."""
        return [json.loads(text)["data"] for stream, text in self._pieces if stream == "display"]

    def __repr__(self) -> str:
        return self.text

    def _ipython_display_(self) -> None:
        for stream, text in self._pieces:
            _show(stream, text)


latest: list[Printer] = []  # that of the last cell


def output(rank: int) -> Shown:
    """Returns the whole output of a rank in the last cell, or the last function.

    In a notebook it shows itself, figures too. Raises: LookupError where nothing ran on that rank.
    """
    if not latest:
        raise LookupError("Nothing has run on ranks yet.")
    ran = latest[0].pieces
    if rank not in ran:
        raise LookupError(f"Rank {rank} had no part in the last cell, only {names(ran)}.")
    return Shown(ran[rank])


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


def frontend() -> Any:
    """The shell of a notebook that somebody watches, which can show pictures; None elsewhere."""
    shell = None if UNATTENDED in os.environ else notebook.running()
    return shell if hasattr(shell, "kernel") else None


def publish(shell: Any, shown: Bundle, label: str) -> None:
    """Shows a bundle in the cell; an identified one may be updated later."""
    known = {"transient": {"display_id": f"{label} {shown['id']}"}} if shown["id"] else {}
    shell.display_pub.publish(shown["data"], shown["metadata"], update=shown["update"], **known)


def last_lines(text: str) -> list[str]:
    """The last two lines that aren't empty, as a terminal shows them: the last state of each."""
    lines = [as_it_stands(line)[:WIDTH] for line in text.split("\n")]
    return [line for line in lines if line.strip()][-2:]


def as_it_stands(line: str) -> str:
    """The visible end of a line that was written over: all after its last carriage return."""
    return line.rstrip("\r").rpartition("\r")[2]
