"""The ranks of one notebook: started, welcomed, given orders, watched meanwhile, and ended."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

import msgspec

from notebook_ranks import messages, processes
from notebook_ranks.cells.output import before_the_crash
from notebook_ranks.engine import wire
from notebook_ranks.engine.starters import CONNECT_SECONDS, Starter
from notebook_ranks.groups import steps
from notebook_ranks.messages import Counts, Died, Failure, Hello, Order, Place, State
from notebook_ranks.page import printer
from notebook_ranks.page.printer import UNATTENDED
from notebook_ranks.watch import report
from notebook_ranks.watch.report import Outcome, RankError, RanksError, RanksInterrupted
from notebook_ranks.watch.stall import ALONE_SECONDS, STILL_SECONDS, Pulse, Watch

SAMPLE_SECONDS = 0.5
HURRIED_SAMPLE_SECONDS = 0.2
QUEUE_SECONDS = 5  # after which one hears what a starter says that brings no ranks
TELL_SECONDS = 8  # a cell that runs so long says where it is, and again when it is twice as long
SHOWN = (messages.RunCell, messages.CallFunction)  # orders whose output `output` gives
STOP_SECONDS = 2  # how long a rank may take to stop when asked, or when its wait was ended
PATIENT_STOP_SECONDS = 0.5  # after this, a stopping rank that waits for others is let go
BEREFT_SECONDS = 2  # how long the others may go on when a rank's process is gone
NOTICE_SECONDS = 1  # how long the helper may take to say why a rank is gone
NO_RANKS = "… no ranks yet. Their launcher says:"
PENDING = "… the job is pending: it waits in a queue. Interrupt to cancel it. Its launcher says:"
FAILED = "The ranks didn't start:"
STILL = "Stopped: nothing moved on any rank for {:g} s. --timeout N gives the cell N seconds."
FINISHED = State(acting=["it finished a moment ago"])  # until the rank says what it has left


class Crew:
    """`n` ranks that a starter began, with a line to each; broken once one of them is gone."""

    def __init__(self, starter: Starter, n: int | None, device: str | None) -> None:
        self.starter, self.device = starter, device
        self.lines: dict[int, wire.Line] = {}
        self.hellos: dict[int, Hello] = {}
        self.turn: Turn | None = None  # the order of now, or the last one
        self.states: dict[int, State] = {}  # of each rank after its last order
        self._ended = 0.0  # when a rank was seen to be gone before all had dialled in
        self.cells, self.key = 0, os.urandom(6).hex()
        self.counts: dict[int, Counts | None] = {}  # what each rank has called of its groups
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
        return [hello.pid for hello in self.hellos.values() if hello.host == here]

    def dismiss(self) -> None:
        """Ends the ranks, at once."""
        self.send(self.lines, messages.Exit())
        self.starter.kill(self.local_pids)
        processes.local_ranks.difference_update(self.local_pids)
        for line in self.lines.values():
            line.close()
        self.lines.clear()

    def run(
        self,
        order: Order,
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
        order.id, order.key = self.cells, f"{self.key}-{self.cells}"
        if order.group and self.astray:
            order.group.anew, self.counts, self.astray = True, {}, False
        self.turn = Turn(self, order, payload, only or sorted(self.lines), limit_seconds)
        return self.turn.result()

    def send(self, ranks: Iterable[int], message: msgspec.Struct) -> None:
        """Sends a message to ranks; those that are gone don't get it."""
        for rank in ranks:
            with suppress(OSError):
                self.lines[rank].send(message)

    def deaths(self) -> dict[int, Died]:
        """The ranks that died, as far as the starter knows."""
        ranks = {hello.pid: rank for rank, hello in self.hellos.items()}
        found = {
            ranks.get(notice.pid) if notice.rank is None else notice.rank: notice
            for notice in self.starter.notices()
        }
        return {rank: notice for rank, notice in found.items() if rank is not None}

    def _welcome(self, n: int | None) -> None:
        began = allocated = time.monotonic()
        said = ""
        while n is None or len(self.lines) < n:
            now = time.monotonic()
            if pending := self.starter.pending():
                allocated = now
            if now - began > QUEUE_SECONDS and said != (said := self.starter.said()):
                print(f"{PENDING if pending else NO_RANKS}\n{said}", flush=True)
            if found := self.starter.listener.accept(0.2):
                line, hello = found
                n = hello.world_size
                self.lines[hello.rank], self.hellos[hello.rank] = line, hello
            self._miss(n, now - allocated > CONNECT_SECONDS)
        self._tell_where_others_are()

    def _miss(self, n: int | None, late: bool) -> None:
        """Raises: RanksError where a rank died, or can't dial in any more."""
        alive = self.starter.alive()  # before it is asked for the last time of whom it knows
        for rank, notice in sorted(self.deaths().items()):
            died = report.died(rank, notice.code, notice.words, None)
            last = notice.words.splitlines()[-5:]
            raise RanksError(
                "\n".join([f"{FAILED} {report.names([rank])} died ({died.message}).", *last])
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
        told = messages.Welcome(host, self.hellos[0].port or 0, self.device)
        for line in self.lines.values():
            line.send(told)
        processes.local_ranks.update(self.local_pids)

    def _missing(self, n: int | None) -> str:
        dead = [rank for rank, line in self.lines.items() if line.ended]
        here = f"only {report.names(self.lines)} of {n}" if self.lines else "none"
        what = f"{report.names(dead)} died" if dead else f"{here} reported"
        return f"{FAILED} {what}.\n{self.starter.said()}".strip()


@dataclass
class Snapshot:
    """How an order stood at a moment: which ranks had finished, where the others were, and what all
    had done for each other.
    """

    at: float
    outcomes: dict[int, Outcome]
    places: dict[int, Place]
    states: dict[int, State]


class Turn:
    """One order, from sending it to knowing how it ended on each rank."""

    def __init__(
        self, crew: Crew, order: Order, payload: bytes, ranks: list[int], limit: float | None
    ) -> None:
        self.crew, self.id, self.limit = crew, order.id, limit
        self.ranks, self.outcomes = ranks, dict[int, Outcome]()
        self.printer = printer.Printer(ranks)
        if isinstance(order, SHOWN):
            printer.latest[:] = [self.printer]
        self.started = self.sampled = time.monotonic()
        self.watch, self.pulse = Watch(self.started, limit or float("inf")), Pulse(self.started)
        self.unsaid = set(crew.lines) - set(ranks) - set(crew.states)  # ranks that owe their state
        for rank in set(crew.lines) - set(ranks):
            self.watch.end(rank, crew.states.get(rank, FINISHED), self.started)
        self.gone, self.notices = dict[int, float](), dict[int, Died]()
        self.why, self.asked, self.patience = "", 0.0, float(STOP_SECONDS)
        self.ended_waits: Snapshot | None = None  # how things stood when all waits were ended
        self.tell_at = float("inf") if UNATTENDED in os.environ else TELL_SECONDS
        for rank in ranks:
            try:
                crew.lines[rank].send(order, payload)
            except OSError:
                self.gone[rank] = self.started

    @property
    def unfinished(self) -> set[int]:
        return set(self.ranks) - set(self.outcomes)

    @property
    def _failures(self) -> list[Failure]:
        return [outcome.failure for outcome in self.outcomes.values() if outcome.failure]

    def interrupt(self) -> None:
        """Ctrl-C, of whoever isn't the thread that runs this; the second one waits for nobody."""
        self._ask_to_stop("Interrupted.", again=bool(self.why))

    def result(self) -> dict[int, Outcome]:
        """How the order ended on each rank. Raises: RankError or RanksInterrupted where it went
        wrong.
        """
        given_up = False
        with _interrupts() as bell:
            while self.unfinished and not given_up:
                self._listen(bell)
                self._count_the_dead()
                given_up = self._look(time.monotonic())
                self.printer.refresh(time.monotonic() - self.started)
        ended = given_up or any(failure.final for failure in self._failures)
        if ended:
            self.crew.dismiss()
        self.printer.finish_all()
        wrong = self._wrong(given_up)
        reason = "" if ended else self._in_step()
        if wrong:
            interrupted = self.why.startswith("Int")
            kept = report.GONE if ended else report.KEPT
            raise (RanksInterrupted if interrupted else RankError)(f"{wrong}\n{kept}{reason}")
        if differing := report.disagreement(self.outcomes):
            raise RankError(differing + reason)
        print(reason.lstrip(), end="\n" if reason else "", flush=True)
        return self.outcomes

    def _wrong(self, given_up: bool) -> str:
        """The failure in words, "" if none; once waits were ended, as it was before that."""
        then = self.ended_waits or self._snapshot(0)
        failures = {rank: o.failure for rank, o in then.outcomes.items() if o.failure}
        kinds = {failure.kind for failure in failures.values()}
        if self.why and not kinds - {"stop", "group"}:
            return report.stopped(self.why, {**failures, **then.places})
        if kinds:
            return report.failed(then.outcomes, then.places)
        if given_up or self.ended_waits:
            return report.stuck(then.outcomes, then.places, then.states)
        return ""

    def _in_step(self) -> str:
        """Notes where the ranks stand; a line for the message where the next group is a new one."""
        failures = self._failures
        reason = steps.astray(self.crew.counts, bool(failures))
        if any(failure.kind == "group" for failure in failures):
            reason = steps.BROKEN
        reason = steps.FREED if self.ended_waits else reason
        self.crew.astray = bool(reason)
        return f"\n{reason} {steps.ANEW}" if reason else ""

    def _listen(self, bell: int) -> None:
        heard = (self.unfinished | self.unsaid) - set(self.gone)
        lines = {self.crew.lines[r].connection: r for r in heard}
        others = [line.connection for line in self.crew.starter.watched()]
        pause = HURRIED_SAMPLE_SECONDS if self._failures or self.gone else SAMPLE_SECONDS
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
        if not isinstance(message, messages.Seen):
            self.pulse.beat(now)
        match message:
            case messages.Printed(stream="pipe"):
                self.printer.overheard[rank] += message.text
            case messages.Printed():
                self.printer.add(rank, message.stream, message.text)
            case messages.Seen(id=self.id):
                self.watch.add(rank, message.place, now)
                self.pulse.sample(rank, message.place, now)
            case messages.Left() if rank in self.unsaid and self._is_of_last(rank, message.id):
                self.unsaid.discard(rank)
                self.crew.states[rank] = self.watch.ended[rank] = message.state
            case messages.Done(id=self.id):
                self.printer.add(rank, "stdout", self.printer.overheard.pop(rank, ""))
                self.crew.counts[rank] = message.counts
                said = message.failure, payload, message.records, message.calls
                self._end(rank, Outcome(now, *said))

    def _is_of_last(self, rank: int, id: int) -> bool:
        """Whether a rank has said what its last order left: an earlier order's may come late."""
        return rank not in self.ranks or id == self.id

    def _end(self, rank: int, outcome: Outcome) -> None:
        self.outcomes[rank] = outcome
        dead = outcome.failure is not None and outcome.failure.kind == "died"
        self.watch.end(rank, None if dead else FINISHED, outcome.at)
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
                self._end_of_process(rank, self.notices[rank])
        for rank in self.unfinished & set(self.gone):
            if time.monotonic() - self.gone[rank] > NOTICE_SECONDS:
                self._end_of_process(rank, Died(0, None))

    def _end_of_process(self, rank: int, notice: Died) -> None:
        heard = self.printer.overheard.pop(rank, "")
        self.printer.add(rank, "stdout", before_the_crash(heard + notice.printed))
        place = self.watch.places.get(rank)
        failure = report.died(rank, notice.code, heard + notice.words, place)
        self._end(rank, Outcome(self.gone.get(rank, time.monotonic()), failure))

    def _look(self, now: float) -> bool:
        """Samples the ranks, ends waits that would never end, and says whether to give up on ranks.

        That is so where a process is gone, and the others wait for it or work on for too long, and
        where ranks were asked to stop, or their waits were ended, in vain.
        """
        failed = bool(self._failures)
        if now - self.sampled >= (HURRIED_SAMPLE_SECONDS if failed else SAMPLE_SECONDS):
            self._sample(now)
        if self.why or self.ended_waits:
            return self._wait_for_the_end(now)
        if over := self._over(now):
            self._ask_to_stop(over)
        for rank in self.unfinished:
            if self._is_frozen(rank, now):
                self.watch.freeze(rank)
        deaths = [o.at for o in self.outcomes.values() if o.failure and o.failure.kind == "died"]
        if self.watch.stuck(self.unfinished, failed):
            if not deaths:
                self._end_waits(now)
            return bool(deaths)
        if deaths and now - min(deaths) > BEREFT_SECONDS:
            return True
        if self.unfinished and now - self.started > self.tell_at:
            doubts = self.watch.doubts(self.unfinished, failed)
            self.printer.say(report.running(self.tell_at, self._places(), doubts))
            self.tell_at *= 2
        return False

    def _wait_for_the_end(self, now: float) -> bool:
        """Whether to give up on ranks that were asked to stop, or whose waits were ended."""
        if self.ended_waits is None and now - self.asked > PATIENT_STOP_SECONDS:
            self._end_waits(now)
        since = self.ended_waits.at if self.ended_waits else self.asked
        return now - since > self.patience

    def _end_waits(self, now: float) -> None:
        """Ends every wait for another rank, on all ranks: their group is of no use any more."""
        self.ended_waits = self._snapshot(now)
        self.crew.send(set(self.crew.lines) - set(self.gone), messages.EndWaits())

    def _snapshot(self, now: float) -> Snapshot:
        places = self._places()
        states = {rank: state for rank, state in self.watch.ended.items() if state}
        states |= {rank: place.state or State() for rank, place in places.items()}
        return Snapshot(now, dict(self.outcomes), places, states)

    def _over(self, now: float) -> str:
        """Why the cell must stop, in words: its limit, or without one that nothing moves."""
        if self.limit is None:
            may = STILL_SECONDS if self.watch.rests(self.unfinished) else ALONE_SECONDS
            return STILL.format(may) if self.pulse.still(now) > may else ""
        said = f"Stopped after its limit of {self.limit:g} s (--timeout sets it)."
        return said if now - self.started > self.limit else ""

    def _sample(self, now: float) -> None:
        self.sampled = now
        self.crew.send(self.unfinished - set(self.gone), messages.Look(self.id))

    def _ask_to_stop(self, why: str, again: bool = False) -> None:
        self.why, self.asked = why, time.monotonic()
        self.patience = 0 if again else STOP_SECONDS
        self.crew.send(self.unfinished - set(self.gone), messages.Interrupt())

    def _is_frozen(self, rank: int, now: float) -> bool:
        """Whether a rank of this machine gives no answer because it was stopped by a signal."""
        silent = now - self.watch.seen.get(rank, self.started)
        hello = self.crew.hellos[rank]
        elsewhere = hello.host != socket.gethostname()
        if silent < 4 * SAMPLE_SECONDS or rank in self.gone or elsewhere:
            return False
        return processes.is_stopped(hello.pid)

    def _places(self) -> dict[int, Place]:
        return {r: p for r, p in self.watch.places.items() if r in self.unfinished}


@contextmanager
def _interrupts() -> Iterator[int]:
    """Ctrl-C as a byte in a pipe, so that no message is torn apart; gives the pipe's end."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    mine = threading.current_thread() is threading.main_thread()

    def ring(_signal: int, _frame: Any) -> None:
        with suppress(BlockingIOError):
            os.write(writing, b"!")

    before = signal.signal(signal.SIGINT, ring) if mine else None
    try:
        yield reading
    finally:
        if mine:
            signal.signal(signal.SIGINT, before)
        os.close(reading)
        os.close(writing)
