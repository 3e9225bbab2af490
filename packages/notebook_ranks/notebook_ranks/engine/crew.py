"""The ranks of one notebook: started, welcomed, given orders, and ended."""

import os
import socket
import time
from contextlib import suppress

from notebook_ranks.engine import wire
from notebook_ranks.engine.starters import CONNECT_SECONDS, Starter
from notebook_ranks.engine.turn import NOTICE_SECONDS, Turn
from notebook_ranks.groups import steps
from notebook_ranks.watch import report
from notebook_ranks.watch.report import Outcome, RanksError

FAILED = "The ranks didn't start:"
processes: set[int] = set()  # pids of the ranks on this machine, for who counts processor time


class Crew:
    """`n` ranks that a starter began, with a line to each; broken once one of them is gone."""

    def __init__(self, starter: Starter, n: int | None, device: str | None) -> None:
        self.starter, self.device = starter, device
        self.lines: dict[int, wire.Line] = {}
        self.hellos: dict[int, wire.Message] = {}
        self.turn: Turn | None = None  # the order of now, or the last one
        self.states: dict[int, wire.Message] = {}  # of each rank after its last order
        self._ended = 0.0  # when a rank was seen to be gone before all had dialled in
        self.cells, self.key = 0, os.urandom(6).hex()
        self.standings: steps.Standings = {}  # where each rank stands in its groups
        self.astray = False  # whether the next cell needs its group anew
        starter.start(n, dict(os.environ))
        try:
            self._welcome(n)
        except BaseException:
            self.dismiss()
            raise

    @property
    def broken(self) -> bool:
        """Whether these ranks can run no other cell."""
        return not self.lines

    @property
    def lost(self) -> bool:
        """Whether a rank died between two cells, or its helper."""
        gone = not self.starter.alive() or any(line.ended for line in self.lines.values())
        return gone and not self.broken

    @property
    def local_pids(self) -> list[int]:
        """The ranks on this machine."""
        here = socket.gethostname()
        return [hello["pid"] for hello in self.hellos.values() if hello["host"] == here]

    def dismiss(self) -> None:
        """Ends the ranks, at once."""
        for line in self.lines.values():
            with suppress(OSError):
                line.send({"do": "exit"})
        self.starter.kill(self.local_pids)
        processes.difference_update(self.local_pids)
        for line in self.lines.values():
            line.close()
        self.lines.clear()

    def run(
        self,
        order: wire.Message,
        payload: bytes = b"",
        only: list[int] | None = None,
        limit_seconds: float | None = None,
    ) -> dict[int, Outcome]:
        """Gives an order to the ranks (or some of them) and returns how it ended on each.

        What they print is printed here meanwhile. Raises: RankError where a rank failed, where
        all wait for ever, or at the limit (None: where nothing has moved for long);
        RanksInterrupted for the reader's Ctrl-C.
        """
        self.cells += 1
        order = {**order, "id": self.cells, "key": f"{self.key}-{self.cells}"}
        if "timeout" in order and self.astray:
            order, self.standings, self.astray = {**order, "anew": True}, {}, False
        self.turn = Turn(self, order, payload, only or sorted(self.lines), limit_seconds)
        return self.turn.result()

    def deaths(self) -> dict[int, wire.Message]:
        """What the starter knows of ranks that died."""
        ranks = {hello["pid"]: rank for rank, hello in self.hellos.items()}
        found = {n.get("rank", ranks.get(n["pid"])): n for n in self.starter.notices()}
        return {rank: notice for rank, notice in found.items() if rank is not None}

    def _welcome(self, n: int | None) -> None:
        end = time.monotonic() + CONNECT_SECONDS
        while n is None or len(self.lines) < n:
            if found := self.starter.listener.accept(0.2):
                line, hello = found
                n = hello["world_size"]
                self.lines[hello["rank"]], self.hellos[hello["rank"]] = line, hello
            self._miss(n, time.monotonic() > end)
        self._tell_where_others_are()

    def _miss(self, n: int | None, late: bool) -> None:
        """Raises: RanksError where a rank died, or can't dial in any more."""
        alive = self.starter.alive()  # before it is asked for the last time of whom it knows
        for rank, notice in sorted(self.deaths().items()):
            died = report.died(rank, notice["code"], notice["words"], None)
            last = notice["words"].splitlines()[-5:]
            raise RanksError(
                "\n".join([f"{FAILED} {report.names([rank])} died ({died['message']}).", *last])
            )
        if any(line.ended for line in self.lines.values()):
            self._ended = self._ended or time.monotonic()
        overdue = self._ended and time.monotonic() - self._ended > NOTICE_SECONDS
        if overdue or late or not alive:
            raise RanksError(self._missing(n))

    def _tell_where_others_are(self) -> None:
        here = self.starter.listener.address.split(":")[0]
        peer = self.lines[0].peer
        host = here if peer.startswith("127.") else peer
        port, folder = self.hellos[0]["port"], self.starter.folder
        told = {"folder": folder, "host": host, "port": port, "device": self.device}
        for line in self.lines.values():
            line.send(told)
        processes.update(self.local_pids)

    def _missing(self, n: int | None) -> str:
        dead = [rank for rank, line in self.lines.items() if line.ended]
        here = f"only {report.names(self.lines)} of {n}" if self.lines else "none"
        what = f"{report.names(dead)} died" if dead else f"{here} reported"
        return f"{FAILED} {what}.\n{self.starter.said()}".strip()
