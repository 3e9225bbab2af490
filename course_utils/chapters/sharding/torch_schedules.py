"""The orders that torch.distributed.pipelining's own schedules run, read out without ranks."""

from types import SimpleNamespace
from typing import Any

from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class

from course_utils.chapters.sharding.pipeline_run import UNIT_TIMES, Action, Schedule


def torch_schedule(name: str, ranks: int, batches: int, chunks: int = 1) -> Schedule:
    """What each rank does under torch's schedule `name` ("1F1B", "Interleaved1F1B", …), in order.

    `chunks` is the number of stages on each rank; schedules of one stage a rank have 1. Of torch's
    actions, those that compute are kept: neither messages nor bubbles.
    Raises: ValueError for a schedule that torch doesn't have, or refuses for these numbers.
    """
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
