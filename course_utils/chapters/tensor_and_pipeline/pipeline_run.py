"""Simulates a pipeline schedule exactly: each action as early as its inputs and its rank allow.

An action is (stage, kind, micro-batch), as torch.distributed.pipelining writes them: F is a
forward pass, B a backward pass; I and W are the two halves of one, the gradient of the stage's
input, for which the stage before waits, and that of its weights, for which no stage waits.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

from course_utils.figures.timeline import Span

Action = tuple[int, str, int]
Schedule = Sequence[Sequence[Action]]  # for each rank its actions, in order
Number = int | float | Fraction
Times = Mapping[str, Number | Sequence[Number]]
UNIT_TIMES = {"F": 1, "B": 2, "I": 1, "W": 1}


class Timed(NamedTuple):
    """One action of a rank, with its start and end in the unit of the given times."""

    rank: int
    action: Action
    start: Fraction
    end: Fraction


@dataclass(frozen=True)
class PipelineRun:
    """The actions of a schedule with their times, and what follows from them."""

    timed: tuple[Timed, ...]
    alive: tuple[int, ...]  # by rank, the most micro-batches whose activations it holds at once

    @property
    def makespan(self) -> Fraction:
        """Time from the start of the first action to the end of the last."""
        return max(one.end for one in self.timed) - min(one.start for one in self.timed)

    @property
    def bubble(self) -> Fraction:
        """Idle share of all ranks' time."""
        busy = sum((one.end - one.start for one in self.timed), Fraction(0))
        return 1 - busy / (len(self.alive) * self.makespan)

    def spans(self) -> list[Span]:
        """Bars of the actions, a row per rank; labels of a rank's later stages end in +."""
        first: dict[int, int] = {}
        for rank, (stage, _, _), _, _ in self.timed:
            first[rank] = min(stage, first.get(rank, stage))
        return [
            Span(f"rank {rank}", kind + "+" * (stage > first[rank]), float(a), float(b), str(i))
            for rank, (stage, kind, i), a, b in self.timed
        ]


def simulate(schedule: Schedule, times: Times = UNIT_TIMES) -> PipelineRun:
    """Runs a schedule with `times` of each kind of action, one number or one for each stage.

    Times are added exactly, floats too. A rank holds a micro-batch's activations from its F until
    its B, or its W, ends.
    Raises: ValueError for an order that deadlocks, for no actions, an unknown kind, an action that
    comes twice, and a stage on two ranks.
    """
    actions = _checked(schedule)
    left = [list(reversed(order)) for order in schedule]
    ends: dict[Action, Fraction] = {}
    free = [Fraction(0)] * len(schedule)
    timed: list[Timed] = []
    while any(left):
        wanted = {r: _needs(order[-1], actions) for r, order in enumerate(left) if order}
        ready = [rank for rank, needs in wanted.items() if needs <= ends.keys()]
        if not ready:
            heads = {rank: name(left[rank][-1]) for rank in wanted}
            lacks = {rank: name(min(needs - ends.keys())) for rank, needs in wanted.items()}
            waits = [f"rank {rank} can't do {heads[rank]} before {lacks[rank]}" for rank in wanted]
            raise ValueError(f"This order deadlocks: {'; '.join(waits)}.")
        for rank in ready:
            action = stage, kind, _ = left[rank].pop()
            takes = times[kind]
            start = max([free[rank], *(ends[one] for one in wanted[rank])])
            end = start + Fraction(takes[stage] if isinstance(takes, Sequence) else takes)
            free[rank] = ends[action] = end
            timed.append(Timed(rank, action, start, end))
    return PipelineRun(tuple(timed), tuple(_most_alive(order) for order in schedule))


def one_f_one_b(ranks: int, batches: int) -> Schedule:
    """The 1F1B schedule, one stage per rank: backward passes start as early as possible."""
    schedule = []
    for rank in range(ranks):
        ahead = min(ranks - 1 - rank, batches)  # forwards until the first backward can come
        order = [("F", i) for i in range(ahead)]
        for i in range(batches):
            order += [("F", ahead + i)] if ahead + i < batches else []
            order += [("B", i)]
        schedule.append([(rank, kind, i) for kind, i in order])
    return schedule


def name(action: Action) -> str:
    """As torch writes it: 2F0 is the forward pass of micro-batch 0 on stage 2."""
    return "".join(map(str, action))


def _checked(schedule: Schedule) -> Set[Action]:
    """All actions, each of a known kind, once, and with its stage on one rank."""
    found: set[Action] = set()
    rank_of: dict[int, int] = {}
    for rank, order in enumerate(schedule):
        for action in order:
            stage, kind, _ = action
            if kind not in UNIT_TIMES:
                raise ValueError(f"{name(action)}: {kind!r} is none of {', '.join(UNIT_TIMES)}.")
            if action in found:
                raise ValueError(f"{name(action)} comes twice: list each action once.")
            if rank_of.setdefault(stage, rank) != rank:
                raise ValueError(f"Stage {stage} is on ranks {rank_of[stage]} and {rank}: on one.")
            found.add(action)
    if not found:
        raise ValueError("The schedule has no actions: give each rank a list of them.")
    return found


def _needs(action: Action, actions: Set[Action]) -> Set[Action]:
    """Those of all actions whose results this one needs."""
    stage, kind, i = action
    if kind == "F":
        return {(stage - 1, "F", i)} & actions
    if kind == "W":
        return {(stage, "I", i)} & actions
    return {(stage, "F", i), (stage + 1, "B", i), (stage + 1, "I", i)} & actions


def _most_alive(order: Sequence[Action]) -> int:
    now = most = 0
    for _, kind, _ in order:
        now += {"F": 1, "I": 0}.get(kind, -1)
        most = max(most, now)
    return most


# ---- The schedules of torch.distributed.pipelining, read out without ranks.


def torch_schedule(name: str, ranks: int, batches: int, chunks: int = 1) -> Schedule:
    """Actions of each rank under torch's schedule `name` ("GPipe", "Interleaved1F1B", …), in order.

    `chunks` is the number of stages on each rank. Of torch's actions, those that compute are kept:
    neither communication nor bubbles.
    Raises: ValueError for a schedule that torch doesn't have, or refuses for these numbers.
    """
    from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class

    kind = get_schedule_class(name)
    stage = SimpleNamespace(group_rank=0, group_size=ranks, num_stages=ranks * chunks, submod=None)
    many = issubclass(kind, PipelineScheduleMulti)
    if chunks > 1 and not many:
        raise ValueError(f"{name} takes one stage on each rank: you gave chunks={chunks}.")
    plan: Any = kind([stage] * chunks if many else stage, batches)
    return [_computing(plan.pipeline_order[rank]) for rank in range(ranks)]


def _computing(actions: list[Any]) -> list[Action]:
    """torch's actions as tuples; a fused forward and backward pass as two."""
    plain: list[Action] = []
    for one in actions:
        if one and one.sub_actions:
            plain += _computing(list(one.sub_actions))
        elif one and one.computation_type.value in UNIT_TIMES:
            plain.append((one.stage_index, one.computation_type.value, one.microbatch_index))
    return plain
