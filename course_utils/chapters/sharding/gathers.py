"""A link over which whole units come, as time alone: chapter 12's, for FSDP's gathers."""

from collections.abc import Callable
from itertools import pairwise

import torch

from course_utils.chapters.data_parallelism.links import ClockLink, Work
from course_utils.figures.timeline import Span, Spans


class GatherLink(ClockLink):
    """Gathers come one after the other, each `seconds` after the link is free; no data moves.

    After `clock`, `spans` has the gathers on their way, and what their rank did: `wait`, and
    `compute` from one wait to the next.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(alpha=seconds)

    def gather(self) -> Work:
        """Begins the next unit's gather; who waits for it sleeps until it is due."""
        return self.all_reduce(torch.empty(0))

    def clock(self, step: Callable[[], object]) -> float:
        seconds = super().clock(step)
        waits = [s for s in self.spans if s.label == "wait"]
        ends = [*waits, Span("rank", "end", seconds, seconds)]
        computed = [
            Span("rank", "compute", before.end, after.start) for before, after in pairwise(ends)
        ]
        gathers = [
            Span(s.row, "gather", s.start, s.end) for s in self.spans if s.label == "all_reduce"
        ]
        self.spans = Spans([*computed, *gathers, *waits])
        return seconds
