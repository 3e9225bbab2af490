"""What holds an epoch up, and which of workers, depth, load and step is worth moving next."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from course_utils.chapters.input_pipeline.pipeline import Run, epoch_seconds, simulate
from course_utils.core.measurement import format_seconds

WORKERS, DEPTHS = range(9), range(1, 9)  # that there are to choose from
WORTH = 0.05  # of an epoch: what saves less isn't worth a move


@dataclass(frozen=True)
class Setting:
    """An epoch whose workers and depth are still to choose; times in seconds."""

    loads: Sequence[float]
    step: float
    start: float  # of one worker

    @property
    def mean_load(self) -> float:
        return sum(self.loads) / len(self.loads)

    @property
    def keep_up(self) -> int:
        """The fewest workers that load as fast as the device works: load / step, rounded up."""
        return max(1, math.ceil(self.mean_load / self.step - 1e-9))

    def run(self, workers: int, depth: int) -> Run:
        return simulate(self.loads, self.step, workers, depth, self.start)

    def formula(self, workers: int) -> float:
        """Seconds by `epoch_seconds`, as if each batch took the mean load."""
        return epoch_seconds(len(self.loads), self.mean_load, self.step, workers, self.start)

    def diagnosis(self, workers: int, depth: int) -> tuple[str, str]:
        """What the device waits for, in a few words; and what to move next, as HTML."""
        if not workers:
            return "loading and steps take turns", self._more_workers(depth)
        if workers < self.keep_up:
            return "the loader is the bottleneck", self._more_workers(depth)
        run = self.run(workers, depth)
        if run.idle_later > WORTH * run.seconds:
            return "slow batches come too late", self._uneven(run, workers, depth)
        spare = f", and <b>{self.keep_up}</b> would do" if workers > self.keep_up else ""
        if run.started > WORTH * run.seconds and run.started > run.idle / 2:
            took = f"takes {written(run.started)}, once if persistent_workers is set"
            started = f"The workers keep up{spare}. Starting {workers} {took}"
            return "first its workers have to start", started
        busy = f"The workers keep up{spare}. Now only a quicker step shortens the epoch"
        return "it is the bottleneck itself", busy

    def _more_workers(self, depth: int) -> str:
        enough = f"load / step = {self.mean_load / self.step:.3g}: <b>{self.keep_up}</b>"
        if self.keep_up not in WORKERS:
            return f"{enough} workers would keep up. Make loading cheaper"
        then = written(self.run(self.keep_up, depth).seconds)
        keep_up = "worker keeps" if self.keep_up == 1 else "workers keep"
        return f"{enough} {keep_up} up, a core for each: {then} in all"

    def _uneven(self, run: Run, workers: int, depth: int) -> str:
        dealt, slowest = depth * workers, written(max(self.loads))
        ahead = f"depth · workers = {dealt} batches are dealt ahead: {written(dealt * self.step)}"
        return f"{ahead} of steps; a slow one loads {slowest}. {self._move(run, workers, depth)}"

    def _move(self, run: Run, workers: int, depth: int) -> str:
        """The smallest depth, else number of workers, that is about as good as the best of them."""
        for name, now, runs in (
            ("depth", depth, {d: self.run(workers, d) for d in DEPTHS}),
            ("workers", workers, {w: self.run(w, depth) for w in WORKERS if w >= workers}),
        ):
            best = min(one.seconds for one in runs.values())
            good = min(k for k, one in runs.items() if one.seconds <= best * (1 + WORTH / 5))
            if good > now and best < run.seconds * (1 - WORTH):
                then = written(runs[good].seconds)
                return f"Move the {name} to <b>{good}</b>: {then} in all"
        return "Neither more depth nor more workers help: make the slow ones cheaper"


def written(seconds: float) -> str:
    """Seconds that follow from the model, in their unit and without the ≈ of a measurement."""
    return format_seconds(seconds).removeprefix("≈ ")
