"""One order to the ranks, from sending it to knowing how it ended on each of them."""

import os
import time
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from notebook_ranks.cells.output import before_the_crash
from notebook_ranks.engine import ending, wire
from notebook_ranks.page import printer
from notebook_ranks.page.live import UNATTENDED
from notebook_ranks.watch import report
from notebook_ranks.watch.pulse import ALONE_SECONDS, STILL_SECONDS, Pulse
from notebook_ranks.watch.report import Outcome
from notebook_ranks.watch.stall import Watch

if TYPE_CHECKING:
    from notebook_ranks.engine.crew import Crew

SAMPLE_SECONDS = 0.5
HURRIED_SAMPLE_SECONDS = 0.2
TELL_SECONDS = 8  # a cell that runs so long says where it is, and again when it is twice as long
SHOWN = ("cell", "call")  # orders whose output `output` gives
STOP_SECONDS = 2  # how long a rank may take to stop when asked, or when its wait was ended
PATIENT_STOP_SECONDS = 0.5  # so long after it was asked, who still waits for others is let go
STILL = "Stopped: nothing moved on any rank for {:g} s. --timeout N gives the cell N seconds."
BEREFT_SECONDS = 2  # how long the others may go on when a rank's process is gone
NOTICE_SECONDS = 1  # how long the helper may take to say why a rank is gone


# What a rank that finished does for the others, until it says so.
UNKNOWN: wire.Message = {"acting": ["it finished a moment ago"]}


class Turn:
    """One order, from sending it to knowing how it ended."""

    def __init__(
        self,
        crew: "Crew",
        order: wire.Message,
        payload: bytes,
        ranks: list[int],
        limit: float | None,
    ) -> None:
        self.crew, self.id, self.limit = crew, order["id"], limit
        self.ranks, self.outcomes = ranks, dict[int, Outcome]()
        self.printer, self.words = printer.Printer(ranks), dict[int, str]()
        if order["do"] in SHOWN:
            printer.latest[:] = [self.printer]
        self.started = self.sampled = time.monotonic()
        self.watch = Watch(self.started, limit or float("inf"))
        self.unsaid = set(crew.lines) - set(ranks) - set(crew.states)
        for rank in set(crew.lines) - set(ranks):
            self.watch.end(rank, crew.states.get(rank, UNKNOWN), self.started)
        self.answered = dict.fromkeys(ranks, self.started)
        self.stood = dict(crew.standings)
        self.gone, self.notices = dict[int, float](), dict[int, wire.Message]()
        self.why, self.asked, self.pulse = "", 0.0, Pulse(self.started)
        self.patience = float(STOP_SECONDS)
        self.freed: ending.Freed | None = None  # how things stood when all waits were ended
        self.tell_at = float("inf") if UNATTENDED in os.environ else TELL_SECONDS
        for rank in ranks:
            try:
                crew.lines[rank].send(order, payload)
            except OSError:
                self.gone[rank] = self.started

    @property
    def unfinished(self) -> set[int]:
        return set(self.ranks) - set(self.outcomes)

    def interrupt(self) -> None:
        """Ctrl-C, of whoever isn't the thread that runs this; the second one waits for nobody."""
        self._ask_to_stop("Interrupted.", again=bool(self.why))

    def result(self) -> dict[int, Outcome]:
        verdict = ""
        with ending.interrupts() as bell:
            while self.unfinished and not verdict:
                self._listen(bell)
                self._count_the_dead()
                verdict = self._look(time.monotonic())
                self.printer.refresh(time.monotonic() - self.started)
        return ending.conclude(self, verdict)

    def _listen(self, bell: int) -> None:
        heard = (self.unfinished | self.unsaid) - set(self.gone)
        lines = {self.crew.lines[r].connection: r for r in heard}
        others = [line.connection for line in self.crew.starter.watched()]
        pause = HURRIED_SAMPLE_SECONDS if self._failed or self.gone else SAMPLE_SECONDS
        for ready in wait([*lines, *others, bell], pause):
            if ready == bell:
                os.read(bell, 64)
                self.interrupt()
            elif ready in lines:
                self._hear(lines[ready])

    def _hear(self, rank: int) -> None:
        try:
            message, payload = self.crew.lines[rank].receive()
        except (EOFError, OSError):
            self.gone[rank] = time.monotonic()
            self.watch.ended |= {rank: None} if rank in self.unsaid else {}
            return
        now = time.monotonic()
        if message["type"] != "where":
            self.pulse.beat(now)
        if message["type"] == "out" and message["stream"] == "pipe":
            self.words[rank] = self.words.get(rank, "") + message["text"]
            self.printer.overhear(rank, message["text"])
        elif message["type"] == "out":
            self.printer.add(rank, message["stream"], message["text"])
        elif message["id"] == self.id and message["type"] == "where":
            self.answered[rank] = now
            self.watch.add(rank, message["place"], now)
            self.pulse.sample(rank, message["place"], now)
        elif message["type"] == "state" and rank in self.unsaid:
            self.unsaid.discard(rank)
            self.crew.states[rank] = self.watch.ended[rank] = message["state"]
        elif message["id"] == self.id and message["type"] == "done":
            self.printer.add(rank, "stdout", self.words.pop(rank, ""))
            self.stood[rank] = message["standing"]
            records, calls = message["records"], message["calls"]
            self._end(rank, Outcome(now, message["failure"], payload, records, calls))

    def _end(self, rank: int, outcome: Outcome) -> None:
        self.outcomes[rank] = outcome
        dead = outcome.failure.get("kind") == "died"
        self.watch.end(rank, None if dead else UNKNOWN, outcome.at)
        self.crew.states.pop(rank, None)
        self.unsaid |= set() if dead else {rank}
        self.printer.finish(rank)

    def _count_the_dead(self) -> None:
        """A rank whose line is closed has died; the helper knows of what."""
        self.notices |= self.crew.deaths()
        for rank in self.unfinished & set(self.notices):
            while rank in self.unfinished - set(self.gone) and self.crew.lines[rank].waiting():
                self._hear(rank)
            if rank in self.unfinished:
                self._bury(rank, self.notices[rank])
        for rank in self.unfinished & set(self.gone):
            if time.monotonic() - self.gone[rank] > NOTICE_SECONDS:
                self._bury(rank, {})

    def _bury(self, rank: int, notice: wire.Message) -> None:
        heard = self.words.pop(rank, "")
        self.printer.add(rank, "stdout", before_the_crash(heard + notice.get("printed", "")))
        said, place = heard + notice.get("words", ""), self.watch.places.get(rank)
        failure = report.died(rank, notice.get("code"), said, place)
        self._end(rank, Outcome(self.gone.get(rank, time.monotonic()), failure))

    @property
    def _failed(self) -> bool:
        return any(outcome.failure for outcome in self.outcomes.values())

    def _look(self, now: float) -> str:
        """Samples, and says whether to give up: "stuck" (a rank is gone, the others wait), "bereft"
        (it is gone, they work on), "deaf" (they were asked to stop, or let go, in vain), or "".
        """
        pause = HURRIED_SAMPLE_SECONDS if self._failed else SAMPLE_SECONDS
        if now - self.sampled >= pause:
            self._sample(now)
        if self.why or self.freed:
            return self._wait_for_the_end(now)
        if over := self._over(now):
            self._ask_to_stop(over)
        for rank in self.unfinished:
            if self._is_frozen(rank, now):
                self.watch.freeze(rank)
        deaths = [o.at for o in self.outcomes.values() if o.failure.get("kind") == "died"]
        if self.watch.stuck(self.unfinished, self._failed):
            if deaths:
                return "stuck"
            self._free(now)
            return ""
        if deaths and now - min(deaths) > BEREFT_SECONDS:
            return "bereft"
        if self.unfinished and now - self.started > self.tell_at:
            doubts = self.watch.doubts(self.unfinished, self._failed)
            self.printer.say(report.running(self.tell_at, self._places(), doubts))
            self.tell_at *= 2
        return ""

    def _wait_for_the_end(self, now: float) -> str:
        """After ranks were asked to stop, or let go: who waits for another is let go too."""
        if self.freed is None and now - self.asked > PATIENT_STOP_SECONDS:
            self._free(now)
        since = self.freed.at if self.freed else self.asked
        return "deaf" if now - since > self.patience else ""

    def _free(self, now: float) -> None:
        """Ends every wait for another rank, on all ranks: their group is of no use any more."""
        self.freed = self.standing(now)
        for rank in set(self.crew.lines) - set(self.gone):
            with suppress(OSError):
                self.crew.lines[rank].send({"do": "free"})

    def standing(self, now: float) -> ending.Freed:
        """Who has finished, where the others are, and what all have done for each other."""
        states = {r: s for r, s in {**self.watch.ended, **self._places()}.items() if s}
        return ending.Freed(now, dict(self.outcomes), self._places(), states)

    def _over(self, now: float) -> str:
        """Why the cell must stop, in words: its limit, or without one that nothing moves."""
        if self.limit is None:
            may = STILL_SECONDS if self.watch.rests(self.unfinished) else ALONE_SECONDS
            return STILL.format(may) if self.pulse.still(now) > may else ""
        said = f"Stopped after its limit of {self.limit:g} s (--timeout sets it)."
        return said if now - self.started > self.limit else ""

    def _sample(self, now: float) -> None:
        self.sampled = now
        for rank in self.unfinished - set(self.gone):
            with suppress(OSError):
                self.crew.lines[rank].send({"do": "where", "id": self.id})

    def _ask_to_stop(self, why: str, again: bool = False) -> None:
        self.why, self.asked = why, time.monotonic()
        self.patience = 0 if again else STOP_SECONDS
        for rank in self.unfinished - set(self.gone):
            with suppress(OSError):
                self.crew.lines[rank].send({"do": "interrupt"})

    def _is_frozen(self, rank: int, now: float) -> bool:
        """Whether a rank of this machine gives no answer because it was stopped by a signal."""
        if now - self.answered[rank] < 4 * SAMPLE_SECONDS or rank in self.gone:
            return False
        try:
            stat = Path(f"/proc/{self.crew.hellos[rank]['pid']}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] in "Tt"

    def _places(self) -> dict[int, Any]:
        return {r: p for r, p in self.watch.places.items() if r in self.unfinished}
