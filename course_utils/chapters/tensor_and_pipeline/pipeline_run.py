"""A pipeline's schedule played exactly: each action as early as its inputs and its rank allow.

An action is (stage, what, micro-batch), as torch.distributed.pipelining writes them: F is a
forward pass, B a backward pass; I and W are the two halves of one, the gradient of the stage's
input, for which the stage before it waits, and that of its weights, for which nobody does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from course_utils.figures.timeline import Span

Action = tuple[int, str, int]
Schedule = Sequence[Sequence[Action]]  # for each rank its actions, in order
Number = int | float | Fraction
Times = Mapping[str, Number | Sequence[Number]]
UNIT_TIMES: dict[str, Number | Sequence[Number]] = {"F": 1, "B": 2, "I": 1, "W": 1}


@dataclass(frozen=True)
class Played:
    """One action of a rank, and when it ran, in the unit of the times that were given."""

    rank: int
    action: Action
    start: Fraction
    end: Fraction


@dataclass(frozen=True)
class PipelineRun:
    """What a schedule does: its actions with their times, and what follows from them."""

    played: tuple[Played, ...]
    alive: tuple[int, ...]  # most micro-batches of a stage whose activations a rank holds at once

    @property
    def makespan(self) -> Fraction:
        """From the start of the first action to the end of the last."""
        return max(p.end for p in self.played) - min(p.start for p in self.played)

    @property
    def busy(self) -> tuple[Fraction, ...]:
        """How long each rank computes."""
        return tuple(
            sum((p.end - p.start for p in self.played if p.rank == rank), Fraction(0))
            for rank in range(len(self.alive))
        )

    @property
    def bubble(self) -> Fraction:
        """The share of all ranks' time in which they wait."""
        return 1 - sum(self.busy) / (len(self.busy) * self.makespan)

    @property
    def idle_passes(self) -> Fraction:
        """What a rank waits in the mean, in forward and backward passes of one micro-batch."""
        batches = len({p.action[2] for p in self.played})
        return self.bubble / (1 - self.bubble) * batches

    def spans(self) -> list[Span]:
        """The actions as bars: a row a rank, the micro-batch in the bar; + for its later stages."""
        first = {rank: min(_stages(self.played, rank)) for rank in range(len(self.alive))}
        return [
            Span(f"rank {p.rank}", kind + "+" * (stage > first[p.rank]), float(p.start),
                 float(p.end), str(batch))
            for p in self.played
            for stage, kind, batch in [p.action]
        ]  # fmt: skip


def _stages(played: Sequence[Played], rank: int) -> set[int]:
    return {p.action[0] for p in played if p.rank == rank}


def simulate(schedule: Schedule, times: Times = UNIT_TIMES, hand_over: Number = 0) -> PipelineRun:
    """Plays a schedule: `times` of each kind of action, one number or one for each stage.

    What a stage gives to another rank arrives `hand_over` later, and keeps neither rank busy.
    Numbers are added up exactly, floats too. A rank holds a micro-batch's activations from its F
    until its B, or its W, ends.
    Raises: ValueError for an order in which ranks wait for each other, or for what nobody does;
    for no actions, an action that comes twice, a stage on two ranks, and a missing time.
    """
    home = _homes(schedule)
    needs = _needs(home)
    ends: dict[Action, Fraction] = {}
    played: list[Played] = []
    left = [list(reversed(actions)) for actions in schedule]
    free = [Fraction(0)] * len(schedule)
    moved = True
    while moved:
        moved = False
        for rank, actions in enumerate(left):
            while actions and all(one in ends for one in needs[actions[-1]]):
                action = actions.pop()
                arrive = [ends[i] + Fraction(hand_over) * (home[i] != rank) for i in needs[action]]
                start = max([free[rank], *arrive])
                free[rank] = ends[action] = start + _time(times, action)
                played.append(Played(rank, action, start, ends[action]))
                moved = True
    if any(left):
        raise ValueError(_who_waits(left, needs, ends, home))
    return PipelineRun(tuple(played), tuple(_most_alive(actions) for actions in schedule))


def name(action: Action) -> str:
    """As torch writes it: 2F0 is the forward pass of micro-batch 0 on stage 2."""
    return "".join(map(str, action))


def _homes(schedule: Schedule) -> dict[Action, int]:
    """The rank of each action."""
    home: dict[Action, int] = {}
    rank_of: dict[int, int] = {}
    for rank, actions in enumerate(schedule):
        for action in actions:
            stage, kind, _ = action
            if kind not in UNIT_TIMES:
                raise ValueError(f"{name(action)}: {kind!r} is none of {', '.join(UNIT_TIMES)}.")
            if action in home:
                raise ValueError(f"{name(action)} comes twice: each action stands in one place.")
            if rank_of.setdefault(stage, rank) != rank:
                raise ValueError(f"Stage {stage} is on ranks {rank_of[stage]} and {rank}: on one.")
            home[action] = rank
    if not home:
        raise ValueError("The schedule has no actions: give each rank a list of them.")
    return home


def _needs(home: dict[Action, int]) -> dict[Action, list[Action]]:
    """The actions whose results each one needs."""
    last = max(stage for stage, _, _ in home)
    needs: dict[Action, list[Action]] = {}
    for stage, kind, batch in home:
        own, before = (stage, "I" if kind == "W" else "F", batch), (stage - 1, "F", batch)
        after = (stage + 1, "I" if (stage + 1, "I", batch) in home else "B", batch)
        found = [before] * (stage > 0) if kind == "F" else [own]
        needs[stage, kind, batch] = found + [after] * (kind in "BI" and stage < last)
    return needs


def _time(times: Times, action: Action) -> Fraction:
    stage, kind, _ = action
    try:
        given = times[kind]
        return Fraction(given[stage] if isinstance(given, Sequence) else given)
    except LookupError:
        raise ValueError(f"There is no time for {name(action)}: `times` has {times}.") from None


def _most_alive(actions: Sequence[Action]) -> int:
    now = most = 0
    for _, kind, _ in actions:
        now += {"F": 1, "I": 0}.get(kind, -1)
        most = max(most, now)
    return most


def _who_waits(
    left: list[list[Action]],
    needs: dict[Action, list[Action]],
    ends: dict[Action, Fraction],
    home: dict[Action, int],
) -> str:
    """Of each rank that can't go on: for what it waits, and who should do that."""
    told = []
    for rank, actions in enumerate(left):
        if actions:
            want = next(one for one in needs[actions[-1]] if one not in ends)
            whose = {None: "nobody does", rank: "comes later in its own list"}
            who = whose.get(home.get(want), f"rank {home.get(want)} has yet to do")
            told.append(
                f"rank {rank} can't do {name(actions[-1])} before {name(want)}, which {who}"
            )
    return f"This order never ends: {'; '.join(told)}."


# ---- The orders that torch.distributed.pipelining's own schedules run, read out without ranks.


def torch_schedule(name: str, ranks: int, batches: int, chunks: int = 1) -> Schedule:
    """What each rank does under torch's schedule `name` ("1F1B", "Interleaved1F1B", …), in order.

    `chunks` is the number of stages on each rank; schedules of one stage a rank have 1. Of torch's
    actions, those that compute are kept: neither messages nor bubbles.
    Raises: ValueError for a schedule that torch doesn't have, or refuses for these numbers.
    """
    from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class

    kind = get_schedule_class(name)
    stage = SimpleNamespace(group_rank=0, group_size=ranks, num_stages=ranks * chunks, submod=None)
    many = issubclass(kind, PipelineScheduleMulti)
    if many == (chunks == 1):
        few = "2 or more stages" if many else "one stage"
        raise ValueError(f"{name} wants {few} on each rank: you gave chunks={chunks}.")
    plan: Any = kind([stage] * chunks if many else stage, batches)
    return [_computing(plan.pipeline_order[rank]) for rank in range(ranks)]


def _computing(actions: list[Any]) -> list[Action]:
    """torch's actions as plain ones; a forward and a backward pass side by side, one by one."""
    plain: list[Action] = []
    for one in actions:
        if one and one.sub_actions:
            plain += _computing(list(one.sub_actions))
        elif one and one.computation_type.value in UNIT_TIMES:
            plain.append((one.stage_index, one.computation_type.value, one.microbatch_index))
    return plain
