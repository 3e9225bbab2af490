"""Notes what this process asks of torch.distributed, at the calls of torch's C++ code.

torch's flight recorder keeps no operator, no root and, under gloo, no message between two ranks. So
the methods of ProcessGroup, Work and Store are wrapped: each call is counted and noted, in about a
microsecond, and who waits in one stands in a frame of this file, whose arguments say for what.
Functions such as `dist.all_reduce` stay as they are.
"""

import functools
import types
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from notebook_ranks.groups import torch_inside
from notebook_ranks.messages import Call, Messages

COLLECTIVES = (
    "allreduce allreduce_coalesced broadcast reduce allgather _allgather_base gather scatter "
    "allgather_coalesced allgather_into_tensor_coalesced reduce_scatter _reduce_scatter_base "
    "reduce_scatter_tensor_coalesced alltoall alltoall_base barrier monitored_barrier "
    "all_gather_single all_gather_single_coalesced reduce_scatter_single all_to_all_single "
    "reduce_scatter_single_coalesced"
)
LOOKUPS = ("get", "wait", "multi_get", "queue_pop")
SPLITS = ("alltoall_base", "all_to_all_single")
KEPT = 256  # calls that a group's ledger remembers
ANY = -1  # the peer of a receive from any rank


class Note(NamedTuple):
    """A message that was begun: `number` counts those of its kind, peer and tag in the group."""

    kind: str
    ledger: "Ledger"
    peer: int
    tag: int
    number: int


class Ledger:
    """Requests of this process to one group: counts of collectives and messages, the last ones."""

    __slots__ = ("age", "calls", "group", "made", "messages", "name", "ranks", "told")

    def __init__(self, group: Any) -> None:
        self.group = weakref.ref(group)
        self.name = name_of(group)
        self.ranks = torch_inside.members(group)  # torch forgets them with the group
        _born[self.name] += 1
        self.age = _born[self.name]  # of those that had this name
        self.made = self.told = 0
        self.messages: Counter[tuple[str, int, int]] = Counter()  # kind, peer in the group, tag
        self.calls: deque[tuple[int, str, Any]] = deque(maxlen=KEPT)  # with what `_options` takes


opened = 0  # how many default groups this process has opened since its cell began
_born: Counter[str] = Counter()
_ledgers: dict[int, Ledger] = {}
_works: dict[int, tuple[Any, Note]] = {}  # the message that an unfinished Work is, by its id


def ledger(group: Any) -> Ledger:
    """The group's ledger; a group made later in the same memory gets one of its own."""
    found = _ledgers.get(id(group))
    if found is None or found.group() is not group:
        found = _ledgers[id(group)] = Ledger(group)
    return found


def install() -> None:
    """Wraps torch's methods; a second call changes nothing."""
    process_group, store, work, future = torch_inside.classes()
    if hasattr(work.wait, "__wrapped__"):
        return
    for name in COLLECTIVES.split():
        _replace(process_group, name, _collective)
    for name in ("send", "recv", "recv_anysource"):
        _replace(process_group, name, _message)
    for name in LOOKUPS:
        _replace(store, name, _lookup)
    for owner in (work, future):
        _replace(owner, "wait", _wait)


def _replace(owner: Any, name: str, wrap: Callable[[str, Any], Any]) -> None:
    real = getattr(owner, name, None)
    if real is not None:
        setattr(owner, name, functools.wraps(real)(wrap(name, real)))


def _collective(name: str, real: Any) -> Any:
    kept = slice(2, None) if name in SPLITS else -1  # no tensor
    held = _ledgers

    def collective(group: Any, *args: Any, **kwargs: Any) -> Any:
        kept_by = held.get(id(group))  # as `ledger` does: this is a tenth of what a call takes
        if kept_by is None or kept_by.group() is not group:
            kept_by = ledger(group)
        kept_by.made = number = kept_by.made + 1
        kept_by.calls.append((number, name, args[kept] if args else None))
        return real(group, *args, **kwargs)

    return collective


def _message(name: str, real: Any) -> Any:
    kind = name.partition("_")[0]

    def message(group: Any, *args: Any, **kwargs: Any) -> Any:
        kept_by = ledger(group)
        given = (*args, *kwargs.values())[1:]
        peer, tag = given if len(given) == 2 else (ANY, *given)
        kept_by.messages[kind, peer, tag] += 1
        number = kept_by.messages[kind, peer, tag]
        note = Note(kind, kept_by, peer, tag, number)
        work = real(group, *args, **kwargs)
        if work is not None:
            key = id(work)
            _works[key] = (weakref.ref(work, lambda _: _works.pop(key, None)), note)
        return work

    return message


def _lookup(_name: str, real: Any) -> Any:
    def lookup(store: Any, *args: Any, **kwargs: Any) -> Any:
        return real(store, *args, **kwargs)

    return lookup


def _wait(_name: str, real: Any) -> Any:
    def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
        return real(work, *args, **kwargs)

    return wait


def door(frame: types.FrameType) -> str | None:
    """The method of torch that a frame of this file calls."""
    if frame.f_code.co_filename != __file__ or "real" not in frame.f_locals:
        return None
    return str(frame.f_locals["real"].__name__)


def of_work(work: Any) -> Note | None:
    """The message that this Work is; None for a collective's."""
    reference, note = _works.get(id(work), (None, None))
    return note if reference and reference() is work else None


def new_calls() -> list[Call]:
    """The collectives since this was last called that have another operator than SUM, another root
    than rank 0, or splits.
    """
    found = []
    for key, kept_by in [*_ledgers.items()]:
        if kept_by.group() is None:
            del _ledgers[key]
        new = told(kept_by, kept_by.made - kept_by.told)
        found += [call for call in new if call.operator or call.root or call.splits]
        kept_by.told = kept_by.made
    return found


def told(kept_by: Ledger, last: int = KEPT) -> list[Call]:
    """The last collectives that Python code asked of a group."""
    ranks = kept_by.ranks
    own = kept_by.name, kept_by.age, ranks, kept_by.made
    return [
        Call(*own, number, name, *_options(options, ranks))
        for number, name, options in [*kept_by.calls][-last:][:last]
    ]


def _options(kept: Any, ranks: list[int]) -> tuple[str, int, list[list[int]]]:
    """Operator, root and splits of a call."""
    options = kept if isinstance(kept, tuple) else (kept,)
    last: Any = options[-1] if options else None
    operator = str(last.reduceOp.op).rpartition(".")[2] if hasattr(last, "reduceOp") else "SUM"
    root = getattr(last, "rootRank", 0)
    given = len(options) > 2 and any(options[:2])
    return (
        "" if operator == "SUM" else operator,
        ranks[root] if root in range(len(ranks)) else 0,
        [list(sizes) for sizes in options[:2]] if given else [],
    )


def messages(kept_by: Ledger) -> list[Messages]:
    """Counts the messages that this process has begun in a group, by kind, peer and tag."""
    return [
        Messages(kept_by.name, kind, peer_of(kept_by.ranks, peer), tag, count)
        for (kind, peer, tag), count in [*kept_by.messages.items()]
    ]


def peer_of(ranks: list[int], place: int) -> int | None:
    """The rank at that place of a group; None for anybody, or where the group is gone."""
    return ranks[place] if 0 <= place < len(ranks) else None


def name_of(group: Any) -> str:
    """The name that all ranks give to a group; "" for one made without torch's functions."""
    try:
        return str(group.group_name)
    except (AttributeError, RuntimeError):
        return ""


def me() -> int | None:
    """This process's rank in the default group; None where there is none."""
    import torch.distributed as dist

    return dist.get_rank() if dist.is_initialized() else None


def groups() -> Iterator[tuple[Any, list[int]]]:
    """The groups that this process is in, with their members."""
    for _, ranks, group in torch_inside.groups():
        if name_of(group):
            yield group, ranks
