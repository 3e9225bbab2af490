"""Prints what the ranks print: rank by rank, in order, the first one live."""

import sys
from collections import defaultdict
from collections.abc import Iterable

Piece = tuple[str, str]  # the stream's name and what was written to it


class Printer:
    """Prints each rank's output under its name once all ranks before it have finished."""

    def __init__(self, ranks: Iterable[int]) -> None:
        self._waiting = sorted(ranks)
        self._pieces: dict[int, list[Piece]] = defaultdict(list)
        self._finished: set[int] = set()
        self._begun: dict[str, str] = {}  # an unfinished line for each stream

    def add(self, rank: int, stream: str, text: str) -> None:
        """A rank wrote something."""
        self._pieces[rank].append((stream, text))
        if rank not in self._waiting[1:]:  # also what a rank says that has finished
            self._print_new(rank)

    def finish(self, rank: int) -> None:
        """A rank will write nothing more in this cell."""
        self._finished.add(rank)
        while self._waiting and self._waiting[0] in self._finished:
            first = self._waiting.pop(0)
            self._print_new(first)
            self._end_lines(first)
            if self._waiting:
                self._print_new(self._waiting[0])

    def finish_all(self) -> None:
        """Prints everything that is left."""
        for rank in list(self._waiting):
            self.finish(rank)

    def _print_new(self, rank: int) -> None:
        for stream, text in self._pieces.pop(rank, []):
            *lines, rest = (self._begun.pop(stream, "") + text).split("\n")
            self._print(rank, stream, lines)
            if rest:
                self._begun[stream] = rest

    def _end_lines(self, rank: int) -> None:
        for stream, line in self._begun.items():
            self._print(rank, stream, [line])
        self._begun.clear()

    def _print(self, rank: int, stream: str, lines: list[str]) -> None:
        shown = [f"[rank {rank}] {line.rpartition(chr(13))[2] or line}" for line in lines]
        if shown:
            text = "\n".join(shown) + "\n"
            target = sys.stderr if stream == "stderr" else sys.stdout
            target.write(text.encode(errors="replace").decode())
            target.flush()
