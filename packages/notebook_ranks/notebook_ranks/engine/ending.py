"""How an order ends: with a message, and with ranks that go on, or with none."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from notebook_ranks.engine import wire
from notebook_ranks.groups import steps
from notebook_ranks.watch import report
from notebook_ranks.watch.report import Outcome, RankError, RanksInterrupted

if TYPE_CHECKING:
    from notebook_ranks.engine.turn import Turn


@dataclass
class Freed:
    """How an order stood when every wait for another rank was ended: what comes later follows."""

    at: float
    outcomes: dict[int, Outcome]
    places: dict[int, Any]
    states: dict[int, wire.Message]


def conclude(turn: "Turn", verdict: str) -> dict[int, Outcome]:
    """What an order gave; `verdict` says why ranks that haven't finished are given up, "" for none.

    Raises: RankError or RanksInterrupted where it went wrong.
    """
    failures = [outcome.failure for outcome in turn.outcomes.values() if outcome.failure]
    gone = bool(verdict) or any(failure.get("final") for failure in failures)
    if gone:
        turn.crew.dismiss()
    turn.printer.finish_all()
    wrong = _wrong(turn, verdict)
    reason = "" if gone else _in_step(turn, failures)
    if wrong:
        interrupted = turn.why.startswith("Int")
        kept = report.GONE if gone else report.KEPT
        raise (RanksInterrupted if interrupted else RankError)(f"{wrong}\n{kept}{reason}")
    if differing := report.disagreement(turn.outcomes):
        raise RankError(differing + reason)
    print(reason.lstrip(), end="\n" if reason else "", flush=True)
    return turn.outcomes


def _wrong(turn: "Turn", verdict: str) -> str:
    """What went wrong, "" where nothing did; after the waits were ended, what was so before."""
    then = turn.freed or turn.standing(0)
    failures = {rank: o.failure for rank, o in then.outcomes.items() if o.failure}
    kinds = {failure["kind"] for failure in failures.values()}
    if turn.why and not kinds - {"stop", "group"}:
        return report.stopped(turn.why, {**failures, **then.places})
    if kinds:
        return report.failed(then.outcomes, then.places)
    return report.stuck(then.outcomes, then.places, then.states) if verdict or turn.freed else ""


def _in_step(turn: "Turn", failures: list[dict[str, Any]]) -> str:
    """Notes where the ranks stand; a line for the message where the next group is a new one."""
    reason = steps.astray(turn.stood, turn.crew.standings, bool(failures))
    if any(failure["kind"] == "group" for failure in failures):
        reason = steps.BROKEN
    reason = steps.FREED if turn.freed else reason
    turn.crew.standings, turn.crew.astray = turn.stood, bool(reason)
    return f"\n{reason} {steps.ANEW}" if reason else ""


@contextmanager
def interrupts() -> Iterator[int]:
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
