"""What went wrong on the ranks, in words: the first true cause, and where the others were."""

import linecache
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from notebook_ranks.watch import agreement, words
from notebook_ranks.watch.words import names

SIZES = re.compile(r"op\.preamble\.length <= op\.nbytes\. (\d+) vs (\d+)")
STEP = re.compile(r'File "(<ranks cell \d+>)", line (\d+)')
SOURCE = re.compile(r"\[/[^\]]*\.cc:\d+\] ?|\[[\d.:a-f]+\]:\d+ ?")
ADVICE = re.compile(r"\. This is typically caused.*", re.S)
TOGETHER_SECONDS = 0.1
KEPT = "The ranks and their variables are still there."
GONE = "All ranks were stopped. Their variables are gone; the next cell gets fresh ranks."


@dataclass
class Outcome:
    """How a cell ended on one rank; `at` is the second at which the notebook heard of it."""

    at: float
    failure: dict[str, Any] = field(
        default_factory=dict
    )  # empty, or as cell.attempt describes it; or kind "died"
    payload: bytes = b""
    records: list[dict[str, Any]] = field(default_factory=list)  # as flight.told says them
    calls: list[dict[str, Any]] = field(default_factory=list)  # as notes.new_calls says them


NOWHERE = {"line": None, "text": "", "inside": "", "call": None, "tensors": ""}
Outcomes = Mapping[int, Outcome]
Places = Mapping[int, dict[str, Any]]
State = Mapping[str, Any]


class _InWords:
    """An error whose message says all: a notebook shows it without a traceback of ours."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


class RanksError(_InWords, RuntimeError):
    """The ranks can't be started or reached; the message says what to do."""


class RankError(_InWords, Exception):
    """A cell failed on a rank; the message is the first true cause, and where the others were."""


class RanksInterrupted(_InWords, KeyboardInterrupt):
    """The reader interrupted a cell on the ranks."""


def first_cause(outcomes: Outcomes) -> int:
    """The rank that failed first, of those whose failure isn't another's doing.

    A process that died comes before an exception, an exception of the reader's code before one of
    the process group, which as a rule only says that somebody else is gone; of those that died, one
    whose death its starter explains. Of those that come together, it is the lowest rank.
    """
    order = {"died": 0, "python": 0, "group": 1, "stop": 2}
    failed = {r: o for r, o in outcomes.items() if o.failure}
    first = min(order[outcome.failure["kind"]] for outcome in failed.values())
    likely = {r: o.at for r, o in failed.items() if order[o.failure["kind"]] == first}
    explained = {r: at for r, at in likely.items() if failed[r].failure.get("code") is not None}
    likely = explained or likely
    return min(r for r, at in likely.items() if at - min(likely.values()) < TOGETHER_SECONDS)


def failed(outcomes: Outcomes, places: Places) -> str:
    """The message for a cell in which at least one rank failed."""
    failure = outcomes[first_cause(outcomes)].failure
    same = [
        r
        for r, o in outcomes.items()
        if o.failure and (_what(o.failure), o.failure["line"]) == (_what(failure), failure["line"])
    ]
    lines = [f"✗ {names(same)}{_line(failure)}: {_what(failure)}", *_source(failure)]
    lines += failure.get("trace", [])
    others = {r: o.failure for r, o in outcomes.items() if o.failure and r not in same}
    lines += words.where_all({**others, **{r: p for r, p in places.items() if r not in outcomes}})
    done = [r for r, o in outcomes.items() if not o.failure]
    if done and (places or others):
        lines.append(f"  {names(done)} had finished the cell")
    return "\n".join(lines)


def stuck(outcomes: Outcomes, places: Places, states: Mapping[int, State]) -> str:
    """The message for ranks that wait for each other, and will for ever.

    `states` are what all that are alive did for the others, as `waits.state` says it.
    """
    deadlock = ["✗ Deadlock: these ranks wait for something that will never come."]
    lines = [*(_never_ends(places, states) or deadlock), *words.where_all(places)]
    if outcomes:
        lines.append(f"  {names(outcomes)} had finished the cell")
    return "\n".join(lines)


def stopped(why: str, places: Places) -> str:
    """The message for a cell that was stopped by the reader or by its limit."""
    return "\n".join([f"✗ {why}", *words.where_all(places)])


def running(seconds: float, places: Places, doubts: Sequence[str] = ()) -> str:
    """A word in between: where a cell is that takes long; `doubts` are why it isn't stuck."""
    lines = [f"… running for {seconds:.0f} s", *words.where_all(places)]
    if doubts and any(place.get("wait") for place in places.values()):
        lines.append(f"  This isn't called a deadlock: {'; '.join(doubts)}.")
    return "\n".join(lines)


def unreadable(error: SyntaxError) -> str:
    """The message for a cell that isn't Python."""
    where = NOWHERE | {"line": error.lineno, "text": (error.text or "").strip()}
    head = f"✗ line {error.lineno}: {type(error).__name__}: {error.msg}"
    return "\n".join([head, *_source(where), "Nothing was run."])


def disagreement(outcomes: Outcomes) -> str | None:
    """The first collective that the ranks of a group called with different arguments."""
    found = agreement.tensors({rank: outcome.records for rank, outcome in outcomes.items()})
    found = found or agreement.options({rank: o.calls for rank, o in outcomes.items()})
    if found is None:
        return None
    what = "tensors" if found[0] in ("shapes", "types") else found[0]
    head = f"✗ The ranks called one collective with different {what}; results are wrong."
    return "\n".join([head, *words.each(found[1])])


def _never_ends(places: Places, states: Mapping[int, State]) -> list[str]:
    """Why ranks that are in one collective stay there, where they passed different things."""
    needs = [need for place in places.values() for need in place["needs"] if "seq" in need]
    for group, seq in sorted({(need["group"], need["seq"]) for need in needs}):
        found = agreement.never_ends(states, group, seq)
        if found:
            tensors = "tensors of " if found[0] in ("shapes", "types") else ""
            passed = f"{tensors}different {found[0]}"
            head = f"✗ The ranks passed {passed} to one collective, which never ends."
            return [head, *words.each(found[1])]
    return []


def died(rank: int, code: int | None, said: str, place: dict[str, Any] | None) -> dict[str, Any]:
    """A failure record for a process that ended: its exit code (negative: a signal), last words."""
    place = _dumped(said) or place or dict(NOWHERE)
    sizes = SIZES.search(said)
    if sizes:
        message = f"gloo was sent {sizes[1]} bytes where it expected {sizes[2]}"
        message += ": the ranks passed tensors of different sizes or types"
    elif code is None:
        message = "its process is gone"
    elif code < 0:
        message = f"killed by {signal_name(-code)}"
        message += ", perhaps for want of memory" if code == -signal.SIGKILL else ""
    else:
        message = f"the process exited with status {code}"
    found = {"kind": "died", "name": "died", "code": code, "message": message, "final": True}
    return {**place, **found}


def _dumped(said: str) -> dict[str, Any] | None:
    """The line of the cell in what Python's faulthandler writes when a process crashes."""
    for filename, line in STEP.findall(said):
        text = linecache.getline(filename, int(line)).strip()
        return NOWHERE | {"line": int(line), "text": text}
    return None


def _what(failure: dict[str, Any]) -> str:
    if failure["kind"] == "died":
        return f"died ({failure['message']})"
    message = ADVICE.sub("", SOURCE.sub("", failure["message"])).strip()
    return f"{failure['name']}: {message}" if message else failure["name"]


def _line(place: dict[str, Any]) -> str:
    earlier = f", {place['earlier']}" if place.get("earlier") else ""
    return f"{earlier}{words.line(place)}"


def _source(place: dict[str, Any]) -> list[str]:
    lines = [f"    {place['line']} | {place['text']}"] if place["line"] and place["text"] else []
    return [*lines, f"      in {place['inside']}"] if place["inside"] else lines


def signal_name(number: int) -> str:
    """`SIGKILL`; a real-time signal's, which has none, from its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
