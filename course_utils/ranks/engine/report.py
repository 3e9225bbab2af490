"""What went wrong on the ranks, in words: the first true cause, and where the others were."""

import linecache
import re
import signal
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SAME_EVERYWHERE = {"all_reduce", "broadcast", "reduce", "_all_gather_base", "_reduce_scatter_base"}
TYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "Int": "int32",
    "Long": "int64",
}
SIZES = re.compile(r"op\.preamble\.length <= op\.nbytes\. (\d+) vs (\d+)")
STEP = re.compile(r'File "(<ranks cell \d+>)", line (\d+)')
SOURCE = re.compile(r"\[/[^\]]*\.cc:\d+\] ?|\[[\d.:a-f]+\]:\d+ ?")
ADVICE = re.compile(r"\. This is typically caused.*", re.S)
TOGETHER_SECONDS = 0.1
GONE = "Their variables are gone; the next cell gets fresh ranks."


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
    the process group, which as a rule only says that somebody else is gone. Of those that come
    together, it is the lowest rank.
    """
    order = {"died": 0, "python": 0, "group": 1, "stop": 2}
    failed = {r: o for r, o in outcomes.items() if o.failure}
    first = min(order[outcome.failure["kind"]] for outcome in failed.values())
    likely = {r: o.at for r, o in failed.items() if order[o.failure["kind"]] == first}
    return min(r for r, at in likely.items() if at - min(likely.values()) < TOGETHER_SECONDS)


def failed(outcomes: Outcomes, places: Places, gone: bool) -> str:
    """The message for a cell in which at least one rank failed."""
    failure = outcomes[first_cause(outcomes)].failure
    same = [
        r
        for r, o in outcomes.items()
        if o.failure and (_what(o.failure), o.failure["line"]) == (_what(failure), failure["line"])
    ]
    lines = [f"✗ {names(same)}{_line(failure)}: {_what(failure)}", *_source(failure)]
    others = {r: o.failure for r, o in outcomes.items() if o.failure and r not in same}
    lines += _where_all({**others, **{r: p for r, p in places.items() if r not in outcomes}})
    done = [r for r, o in outcomes.items() if not o.failure]
    if done and (gone or others):
        lines.append(f"  {names(done)} had finished the cell")
    lines.append(GONE if gone else "The ranks and their variables are still there.")
    return "\n".join(lines)


def stuck(outcomes: Outcomes, places: Places) -> str:
    """The message for ranks that wait for each other, and will for ever."""
    lines = [
        "✗ Deadlock: these ranks wait for something that will never come.",
        *_where_all(places),
    ]
    if outcomes:
        lines.append(f"  {names(outcomes)} had finished the cell")
    return "\n".join([*lines, f"All ranks were stopped. {GONE}"])


def stopped(why: str, places: Places, gone: bool) -> str:
    """The message for a cell that was stopped by the reader or by its limit."""
    kept = GONE if gone else "The ranks and their variables are still there."
    return "\n".join([f"✗ {why}", *_where_all(places), kept])


def running(seconds: float, places: Places, doubts: Sequence[str] = ()) -> str:
    """A word in between: where a cell is that takes long; `doubts` are why it isn't stuck."""
    lines = [f"… running for {seconds:.0f} s", *_where_all(places)]
    if doubts and any(place.get("wait") for place in places.values()):
        lines.append(f"  This isn't called a deadlock: {'; '.join(doubts)}.")
    return "\n".join(lines)


def unreadable(error: SyntaxError) -> str:
    """The message for a cell that isn't Python."""
    where = NOWHERE | {"line": error.lineno, "text": (error.text or "").strip()}
    head = f"✗ line {error.lineno}: {type(error).__name__}: {error.msg}"
    return "\n".join([head, *_source(where), "Nothing was run."])


def disagreement(outcomes: Outcomes) -> str | None:
    """The first collective that the ranks of a group called with different tensors.

    gloo adds a rank's integers to another's floats, bit by bit, and says nothing.
    """
    calls: dict[str, dict[int, list[dict[str, Any]]]] = defaultdict(dict)
    for rank, outcome in outcomes.items():
        for record in outcome.records:
            calls[record["group"]].setdefault(rank, []).append(record)
    for by_rank in calls.values():
        for step in range(min(len(made) for made in by_rank.values())):
            told = {rank: _told(made[step]) for rank, made in sorted(by_rank.items())}
            if len(set(told.values())) > 1:
                lines = [f"  {names(who)}: {what}" for what, who in _grouped(told).items()]
                head = (
                    "✗ The ranks called one collective with different tensors; results are wrong."
                )
                return "\n".join([head, *lines])
    return None


def died(rank: int, code: int | None, words: str, place: dict[str, Any] | None) -> dict[str, Any]:
    """A failure record for a process that ended: its exit code (negative: a signal), last words."""
    place = _dumped(words) or place or dict(NOWHERE)
    sizes = SIZES.search(words)
    if sizes:
        message = f"gloo was sent {sizes[1]} bytes where it expected {sizes[2]}"
        message += ": the ranks passed tensors of different sizes or types"
    elif code is None:
        message = "its process is gone"
    elif code < 0:
        message = f"killed by {signal.Signals(-code).name}"
        message += ", perhaps for want of memory" if code == -signal.SIGKILL else ""
    else:
        message = f"the process exited with status {code}"
    said = [line for line in words.splitlines() if line.strip()]
    return {**place, "kind": "died", "name": "died", "message": message, "words": said[:3]}


def _dumped(words: str) -> dict[str, Any] | None:
    """The line of the cell in what Python's faulthandler writes when a process crashes."""
    for filename, line in STEP.findall(words):
        text = linecache.getline(filename, int(line)).strip()
        return NOWHERE | {"line": int(line), "text": text}
    return None


def names(ranks: Any) -> str:
    """`rank 3`, `ranks 0 and 2`, `ranks 0–5`."""
    found = sorted(ranks)
    if len(found) == 1:
        return f"rank {found[0]}"
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"ranks {found[0]}–{found[-1]}"
    return f"ranks {', '.join(map(str, found[:-1]))} and {found[-1]}"


def _told(record: dict[str, Any]) -> str:
    if record["name"] not in SAME_EVERYWHERE:
        return record["name"]
    tensors = zip(record["types"], record["shapes"], strict=False)
    told = (f"{TYPES.get(kind, kind.lower())} {shape}" for kind, shape in tensors)
    return f"{record['name']} of {', '.join(told)}"


def _what(failure: dict[str, Any]) -> str:
    if failure["kind"] == "died":
        return f"died ({failure['message']})"
    message = ADVICE.sub("", SOURCE.sub("", failure["message"])).strip()
    return f"{failure['name']}: {message}" if message else failure["name"]


def _line(place: dict[str, Any]) -> str:
    return f", line {place['line']}" if place["line"] else ""


def _source(place: dict[str, Any]) -> list[str]:
    lines = [f"    {place['line']} | {place['text']}"] if place["line"] and place["text"] else []
    return [*lines, f"      in {place['inside']}"] if place["inside"] else lines


def _where_all(places: Places) -> list[str]:
    told = {rank: _where(place) for rank, place in sorted(places.items())}
    return [f"  {names(ranks)}: {where}" for where, ranks in _grouped(told).items()]


def _where(place: dict[str, Any]) -> str:
    if place.get("kind") == "died":
        return f"died ({place['message']})"
    if place.get("frozen"):
        return "stopped by a signal (SIGSTOP)"
    doing, call = "working", ""
    if place.get("wait") == "device":
        doing, call = "waiting", f" for the device, where {_told(place['pending'])} isn't done"
    elif place["call"]:
        tensors = f" of {place['tensors']}" if place["tensors"] else ""
        doing = "waiting" if place.get("wait", "call") else "working"
        call = f" in {place['call']}{tensors}"
        call += ", which hasn't begun" if place.get("wait") == "set-up" else ""
    elif place.get("kind") == "python":
        doing = f"raised {place['name']}"
    text = f": {place['text']}" if place["text"] else ""
    return f"{doing}{_line(place).replace(',', ' at', 1)}{call}{text}"


def _grouped(told: Mapping[int, str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for rank, text in told.items():
        found.setdefault(text, []).append(rank)
    return found
