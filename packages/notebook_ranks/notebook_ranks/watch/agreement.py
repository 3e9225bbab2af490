"""Compares what ranks must agree on in a collective: tensors, operator, root, splits.

gloo adds a rank's integers to another's floats, bit by bit, and one rank's sums to another's
maxima, and says nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from notebook_ranks.messages import Call, Collective, State

SAME_EVERYWHERE = {"all_reduce", "broadcast", "reduce", "_all_gather_base", "_reduce_scatter_base"}
TYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "Int": "int32",
    "Long": "int64",
}
PUBLIC = {"allreduce": "all_reduce", "alltoall": "all_to_all", "alltoall_base": "all_to_all_single"}
ROOTED = {"broadcast": "from", "scatter": "from", "reduce": "to", "gather": "to"}
Records = Mapping[int, Sequence[Any]]  # by rank
Difference = tuple[str, dict[int, str]]  # of what, and what each rank said


def agreed(one: Collective) -> Any:
    """Returns what must be the same on all ranks: the name, and tensors that must be alike."""
    return one.name if one.name not in SAME_EVERYWHERE else (one.name, one.types, one.shapes)


def told(one: Collective) -> str:
    """`all_reduce of float32 [3]`."""
    if one.name not in SAME_EVERYWHERE:
        return one.name
    tensors = zip(one.types, one.shapes, strict=False)
    named = (f"{TYPES.get(kind, kind.lower())} {shape}" for kind, shape in tensors)
    return f"{one.name} of {', '.join(named)}"


def tensors(records: Records) -> Difference | None:
    """The first collective of a group that ranks called by other names or with other tensors."""
    for made in _aligned(records, ("group", "seq")):
        if len({str(agreed(record)) for record in made.values()}) > 1:
            shapes = {str(record.shapes) for record in made.values()}
            return "shapes" if len(shapes) > 1 else "types", {
                rank: told(record) for rank, record in made.items()
            }
    return None


def options(calls: Records) -> Difference | None:
    """The first collective of a group that ranks called with another operator, root or splits.

    Calls that aren't there were usual ones: SUM, root 0, no splits.
    """
    for some in _aligned(calls, ("group", "age", "number")):
        first = next(iter(some.values()))
        usual = replace(first, operator="", root=0, splits=[])
        made = {rank: some.get(rank, usual) for rank in first.ranks if rank in calls}
        for what in ("operator", "root"):
            if len({getattr(call, what) for call in made.values()}) > 1:
                return f"{what}s", {rank: _asked(call) for rank, call in made.items()}
        if made and (wrong := _splits(made)):
            return "splits", wrong
    return None


def never_ends(states: Mapping[int, State], group: str, seq: int) -> Difference | None:
    """In what ranks differ that are in one collective of a group, or the last that they made.

    `group` is named with its backend.
    """
    made = {rank: _of(state.history, group, seq) for rank, state in states.items()}
    if len({record.name for records in made.values() for record in records}) > 1:
        return None  # not one collective
    name = group.partition(":")[2]
    last = {r: [c for c in s.calls if c.group == name][-1:] for r, s in states.items()}
    numbers = {calls[0].number for calls in last.values() if calls}
    same = options({r: calls for r, calls in last.items() if calls}) if len(numbers) == 1 else None
    return tensors(made) or same


def _of(history: list[Collective], group: str, seq: int) -> list[Collective]:
    return [one for one in history if (one.group, one.seq) == (group, seq)]


def _asked(call: Call) -> str:
    name = PUBLIC.get(call.name, call.name)
    operator = f" by {call.operator or 'SUM'}" if "reduce" in name else ""
    root = f" {ROOTED[name]} rank {call.root}" if name in ROOTED else ""
    return f"{name}{operator}{root}"


def _splits(calls: Mapping[int, Call]) -> dict[int, str]:
    """Says what each rank sends and expects, where one expects what another doesn't send."""
    ranks = next(iter(calls.values())).ranks
    given = [call.splits for call in calls.values()]
    if [*calls] != ranks or any([len(part) for part in s] != [len(ranks)] * 2 for s in given):
        return {}
    places = range(len(ranks))
    if all(given[to][0][of] == given[of][1][to] for to in places for of in places):
        return {}
    return {r: f"sends {c.splits[1]}, expects {c.splits[0]}" for r, c in calls.items()}


def _aligned(records: Records, by: tuple[str, ...]) -> list[dict[int, Any]]:
    """Records that are of one collective, by rank; those of a group made anew come later."""
    found: dict[Any, dict[int, Any]] = defaultdict(dict)
    for rank, made in sorted(records.items()):
        times: Counter[Any] = Counter()
        for record in made:
            key = tuple(getattr(record, name) for name in by)
            found[(*key, times[key])][rank] = record
            times[key] += 1
    return [*found.values()]
