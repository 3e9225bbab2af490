"""Says what went wrong on the ranks: the first true cause, and where the others were."""

import linecache
import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from notebook_ranks.messages import Call, Collective, Failure, Need, Place, State, Where
from notebook_ranks.watch import agreement

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
    failure: Failure | None = None
    payload: bytes = b""
    records: list[Collective] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


Outcomes = Mapping[int, Outcome]
Places = Mapping[int, Place]


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
    failed = {r: (o.at, o.failure) for r, o in outcomes.items() if o.failure}
    first = min(order[failure.kind] for _, failure in failed.values())
    likely = {r: at for r, (at, failure) in failed.items() if order[failure.kind] == first}
    explained = {r: at for r, at in likely.items() if failed[r][1].code is not None}
    likely = explained or likely
    return min(r for r, at in likely.items() if at - min(likely.values()) < TOGETHER_SECONDS)


def failed(outcomes: Outcomes, places: Places) -> str:
    """The message for a cell in which at least one rank failed."""
    failures = {rank: o.failure for rank, o in outcomes.items() if o.failure}
    first = failures[first_cause(outcomes)]
    said = _what(first), first.line
    same = [rank for rank, one in failures.items() if (_what(one), one.line) == said]
    earlier = f", {first.earlier}" if first.earlier else ""
    lines = [f"✗ {names(same)}{earlier}{_line(first)}: {_what(first)}", *_source(first)]
    lines += first.trace
    others = {rank: one for rank, one in failures.items() if rank not in same}
    lines += _where_all({**others, **{r: p for r, p in places.items() if r not in outcomes}})
    done = [r for r, o in outcomes.items() if not o.failure]
    if done and (places or others):
        lines.append(f"  {names(done)} had finished the cell")
    return "\n".join(lines)


def stuck(outcomes: Outcomes, places: Places, states: Mapping[int, State]) -> str:
    """The message for ranks that wait for each other, and will for ever.

    `states` are what all that are alive did for the others.
    """
    deadlock = ["✗ Deadlock: these ranks wait for something that will never come."]
    lines = [*(_never_ends(places, states) or deadlock), *_where_all(places)]
    if outcomes:
        lines.append(f"  {names(outcomes)} had finished the cell")
    return "\n".join(lines)


def stopped(why: str, places: Mapping[int, Where]) -> str:
    """The message for a cell that was stopped by the reader or by its limit."""
    return "\n".join([f"✗ {why}", *_where_all(places)])


def running(seconds: float, places: Places, doubts: Sequence[str] = ()) -> str:
    """A word in between: where a cell is that takes long; `doubts` are why it isn't stuck."""
    lines = [f"… running for {seconds:.0f} s", *_where_all(places)]
    if doubts and any(place.wait for place in places.values()):
        lines.append(f"  This isn't called a deadlock: {'; '.join(doubts)}.")
    return "\n".join(lines)


def unreadable(error: SyntaxError) -> str:
    """The message for a cell that isn't Python."""
    where = Where(line=error.lineno, text=(error.text or "").strip())
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
    return "\n".join([head, *_each(found[1])])


def _never_ends(places: Places, states: Mapping[int, State]) -> list[str]:
    """Why ranks that are in one collective stay there, where they passed different things."""
    needs = [need.collective for place in places.values() for need in place.needs]
    for group, seq in sorted({(one.group, one.seq) for one in needs if one}):
        found = agreement.never_ends(states, group, seq)
        if found:
            tensors = "tensors of " if found[0] in ("shapes", "types") else ""
            passed = f"{tensors}different {found[0]}"
            head = f"✗ The ranks passed {passed} to one collective, which never ends."
            return [head, *_each(found[1])]
    return []


def died(rank: int, code: int | None, said: str, place: Where | None) -> Failure:
    """The failure of a rank whose process ended: its exit code (negative: a signal), last words."""
    where = _dumped(said) or place or Where()
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
    told = {name: getattr(where, name) for name in Where.__struct_fields__}  # of a Place, too
    return Failure(kind="died", name="died", code=code, message=message, final=True, **told)


def _dumped(said: str) -> Where | None:
    """The line of the cell in what Python's faulthandler writes when a process crashes."""
    for filename, line in STEP.findall(said):
        return Where(line=int(line), text=linecache.getline(filename, int(line)).strip())
    return None


def _what(failure: Failure) -> str:
    if failure.kind == "died":
        return f"died ({failure.message})"
    message = ADVICE.sub("", SOURCE.sub("", failure.message)).strip()
    return f"{failure.name}: {message}" if message else failure.name


def _source(where: Where) -> list[str]:
    lines = [f"    {where.line} | {where.text}"] if where.line and where.text else []
    return [*lines, f"      in {where.inside}"] if where.inside else lines


def signal_name(number: int) -> str:
    """`SIGKILL`; a real-time signal's, which has none, from its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def names(ranks: Iterable[int]) -> str:
    """`rank 3`, `ranks 0 and 2`, `ranks 0–5`."""
    found = sorted(ranks)
    if len(found) == 1:
        return f"rank {found[0]}"
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"ranks {found[0]}–{found[-1]}"
    return f"ranks {', '.join(map(str, found[:-1]))} and {found[-1]}"


def _line(where: Where) -> str:
    return f", line {where.line}" if where.line else ""


def _each(told: Mapping[int, str]) -> list[str]:
    """A line for each message, with all ranks that it is about."""
    found: dict[str, list[int]] = {}
    for rank, text in told.items():
        found.setdefault(text, []).append(rank)
    return [f"  {names(who)}: {what}" for what, who in found.items()]


def _where_all(places: Mapping[int, Where]) -> list[str]:
    return _each({rank: _where(place) for rank, place in sorted(places.items())})


def _where(where: Where) -> str:
    """The place of a rank, or of its failure, and what it waited for there."""
    if isinstance(where, Failure) and where.kind == "died":
        return f"died ({where.message})"
    place = where if isinstance(where, Place) else Place(wait="call" if where.call else None)
    if place.frozen:
        return "stopped by a signal (SIGSTOP)"
    doing, call = "working", ""
    if place.wait == "device" and place.pending:
        doing = "waiting"
        call = f" for the device, where {agreement.told(place.pending)} isn't done"
    elif where.call or place.wait:
        tensors = f" of {where.tensors}" if where.tensors else ""
        doing = "waiting" if place.wait else "working"
        call = f" in {where.call}{tensors}" if where.call else ""
        call += _for(place.needs[0], where.call) if place.needs else ""
        call += ", which hasn't begun" if place.wait == "set-up" else ""
    elif isinstance(where, Failure) and where.kind == "python":
        doing = f"raised {where.name}"
    text = f": {where.text}" if where.text else ""
    return f"{doing}{_line(where).replace(',', ' at', 1)}{call}{text}"


def _for(need: Need, call: str | None) -> str:
    """The purpose of a wait: the peer of a message, the name of a key."""
    if need.kind in ("recv", "send"):
        wait = "" if call and call in need.kind else f" for a {need.kind}"
        peer = "any rank" if need.peer is None else f"rank {need.peer}"
        tag = f" (tag {need.tag})" if need.tag else ""
        return f"{wait} {'from' if need.kind == 'recv' else 'to'} {peer}{tag}"
    if need.kind == "key":
        return f" of {', '.join(map(repr, need.keys))} in a store"
    unnamed = call in ("wait", None) and need.collective
    return f" for {agreement.told(need.collective)}" if unnamed and need.collective else ""
