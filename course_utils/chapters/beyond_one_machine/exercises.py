"""Checkers for chapter 16, "Beyond one machine"."""

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from course_utils.chapters.beyond_one_machine.stopped_runs import pieces, seconds_of
from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.data_parallelism.scaling import (
    Cluster,
    efficiency,
)
from course_utils.lesson.answers import against, as_list, as_numbers, shown
from course_utils.lesson.exercises import Wrong, exercise

PLANS, RUNS = 200, 1000
Run = tuple[list[int], int, int, int, int]


def draw_run() -> Run:
    """Stops, length, interval, seconds of a save and of a restart.

    Short and whole times, so that often two things happen in one second.
    """
    interval, save_seconds = random.randint(2, 20), random.randint(1, 8)
    restart_seconds, length = random.choice([0, *range(1, 15)]), random.randint(10, 120)
    stops = random.sample(range(1, length + 20), random.choice([0, 1, 1, 2, 3, 4, 6]))
    return sorted(stops), length, interval, save_seconds, restart_seconds


# ---- Clusters offered for a training run, drawn at random, and the right plan for each.


@dataclass(frozen=True)
class Offer:
    """A cluster and a model, as chapter 16's last exercise describes them; bytes, FLOP, seconds."""

    n: int
    memory_bytes: int
    state_bytes: int
    sample_bytes: int
    largest_batch: int
    base_batch: int
    base_rate: float
    sample_flops: float
    flops_per_s: float
    gradient_bytes: int
    buckets: int
    alpha: float
    beta: float


def draw_offer() -> Offer:
    """8 GPUs with room for some samples, and links from slow to quick."""
    parameters = 10 ** random.uniform(8, 9.5)
    state, sample = round(16 * parameters), round(10 ** random.uniform(8.5, 9.5))
    room = random.randint(4, 64)
    return Offer(
        n=8,
        memory_bytes=state + room * sample + random.randint(0, sample - 1),
        state_bytes=state,
        sample_bytes=sample,
        largest_batch=8 * random.randint(2, 64) + random.randint(0, 7),
        base_batch=random.choice([16, 32, 64]),
        base_rate=random.choice([1e-4, 3e-4, 1e-3]),
        sample_flops=6 * parameters * random.choice([256, 1024, 2048]),
        flops_per_s=4e14,
        gradient_bytes=round(4 * parameters),
        buckets=random.choice([1, 2, 3, 4, 6, 25]),
        alpha=10 ** random.uniform(-5.5, -2.5),
        beta=10 ** random.uniform(-11.5, -9),
    )


def batch_and_rate(offer: Offer) -> tuple[int, float]:
    """The right local batch and learning rate."""
    fits = (offer.memory_bytes - offer.state_bytes) // offer.sample_bytes
    local = min(fits, offer.largest_batch // offer.n)
    return local, offer.base_rate * math.sqrt(offer.n * local / offer.base_batch)


def scaling(offer: Offer) -> float:
    """The right efficiency."""
    cluster = Cluster(offer.n, offer.flops_per_s, Link(offer.alpha, offer.beta))
    flops = batch_and_rate(offer)[0] * offer.sample_flops
    return efficiency(cluster, flops, offer.gradient_bytes, offer.buckets)


# ---- What launchers tell a process by its environment, drawn for an exercise.

TORCHRUN = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
MPIRUN = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE")
SRUN = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS")
BY_HAND = (0, 0, 1)
Told = dict[str, str]


def environments() -> dict[str, tuple[Told, tuple[int, int, int]]]:
    """By kind, an environment and what its process is, on a random machine but the first.

    There rank and local rank differ.
    """
    nodes, each = random.randint(2, 6), random.randint(2, 8)
    node, local = random.randrange(1, nodes), random.randrange(each)
    mine, agent = (node * each + local, local, nodes * each), (node, 0, nodes)
    tasks = str(mine[2])
    torchrun = _told(TORCHRUN, mine) | {"GROUP_RANK": str(node), "MASTER_ADDR": "node0"}
    mpirun = _told(MPIRUN, mine) | {"OMPI_COMM_WORLD_LOCAL_SIZE": str(each)}
    job = {"SLURM_JOB_ID": "4711", "SLURM_NTASKS": tasks}
    batch = job | dict.fromkeys(SRUN[:2], "0")  # a script of a job: it is no task of srun's
    srun, srun_agent = job | _told(SRUN, mine), job | _told(SRUN, agent)
    exported = {"WORLD_SIZE": str(mine[2] + 1), "MASTER_ADDR": "node0"}
    return {
        "torchrun": (torchrun, mine),
        "mpirun": (mpirun, mine),
        "srun": (srun, mine),
        "torchrun in a batch script": (batch | torchrun, mine),
        "torchrun, started by srun": (srun_agent | torchrun, mine),
        "mpirun, started by srun": (srun_agent | mpirun, mine),
        "torchrun, started by mpirun": (_told(MPIRUN, agent) | torchrun, mine),
        "srun --preserve-env": (srun | {"SLURM_NTASKS": str(mine[2] + 3)}, mine),
        "srun, and WORLD_SIZE exported": (srun | exported, mine),
        "mpirun, and WORLD_SIZE exported": (mpirun | exported, mine),
        "by hand": ({"HOME": "/home/you"}, BY_HAND),
        "a batch script without srun": (batch, BY_HAND),
        "by hand, and WORLD_SIZE exported": (exported, BY_HAND),
    }


def _told(names: tuple[str, str, str], numbers: tuple[int, int, int]) -> Told:
    return dict(zip(names, map(str, numbers), strict=True))


HALVES = {  # of each two names that may be missing; who launched is still told
    "torchrun": TORCHRUN[1:],
    "mpirun": MPIRUN[1:],
    "srun": SRUN[:2],
    "torchrun, started by srun": TORCHRUN[1:],
    "mpirun, started by srun": MPIRUN[1:],
}


@exercise(
    "beyond_one_machine.who",
    todo="write who(environment): (rank, local_rank, world_size), or a ValueError.",
    hints=(
        "Three launchers, three names each: write them down in a list, in the order in which you "
        "look. Which one of its names says that a launcher was there? Not always its first.",
        "In a loop over the launchers: if its mark is in environment, look for a name of the "
        "three that isn't. Raise, or return the three as ints. After the loop: (0, 0, 1).",
    ),
)
def check_who(who: Callable[..., Any]) -> str:
    """Each kind of environment ten times, then each with one name missing."""
    for _ in range(10):
        drawn = environments()
        for kind, (told, want) in drawn.items():
            _judge_who(who, kind, told, want)
    for kind, names in HALVES.items():
        if len({_refusal(who, kind, drawn[kind][0], name) for name in names}) == 1:
            raise Wrong(f"{kind}: one message, whichever of {' and '.join(names)} is missing")
    return f"{len(drawn)} kinds of environments, and with a name missing"


def _judge_who(who: Callable[..., Any], kind: str, told: Told, want: tuple[int, ...]) -> None:
    def as_ints(environment: Told) -> list[float]:
        numbers = as_numbers(as_list(who(environment), "(rank, local_rank, world_size)"), 3)
        if not all(isinstance(number, int) for number in numbers):
            raise Wrong(f"you return {shown(numbers)}, want three whole numbers")
        return numbers

    def reference(environment: Told) -> tuple[int, ...]:
        return want

    against(as_ints, reference, [(told,)], why=lambda environment: f" ({kind})")


def _refusal(who: Callable[..., Any], kind: str, told: Told, missing: str) -> str:
    """What is said of an environment without the name `missing`; Wrong if not by ValueError."""
    half = {name: text for name, text in told.items() if name != missing}
    outcome = ""
    try:
        outcome = shown(who(half))
    except Exception as error:
        if isinstance(error, ValueError) and re.search(rf"\b{missing}\b", str(error)):
            return str(error)
        outcome = f"{type(error).__name__}: {error}"
    raise Wrong(f"{kind}, {half}: want a ValueError that names {missing}, got {outcome}")


@exercise(
    "beyond_one_machine.kept_seconds",
    todo="write kept_seconds(stops, length, interval, save_seconds, restart_seconds).",
    hints=(
        "Go from stop to stop, and to length at last. After a stop, work begins at "
        "stop + restart_seconds: it may never begin, if the next stop comes before.",
        "Between a beginning and an end, (end − beginning) // (interval + save_seconds) saves are "
        "complete, and at least none. A stop after length ends nothing.",
    ),
)
def check_kept_seconds(kept_seconds: Callable[..., Any]) -> str:
    """Random runs, so many that stops, saves and restarts meet in every way."""

    def reference(
        stops: list[int], length: int, interval: int, save_seconds: int, restart_seconds: int
    ) -> float:
        run = pieces(stops, length, interval, save_seconds, restart_seconds)
        return seconds_of("kept", run)

    against(kept_seconds, reference, [draw_run() for _ in range(RUNS)])
    return f"{RUNS:,} random runs: exactly the seconds kept"


@exercise(
    "scaling.plan",
    todo="write plan(offer): (local_batch, learning_rate, efficiency) for its 8 GPUs.",
    hints=(
        "The batch: whole samples beside the state in memory, and n times as many may not be "
        "more than largest_batch. Both bounds hold: take the smaller.",
        "Adam's rate grows as the square root of the global batch, n·local, over base_batch.",
        "C = local·sample_flops/flops_per_s. A ring costs 2(n−1)·(alpha + beta·bytes/n) for "
        "each bucket of gradient_bytes/buckets. The step takes C and what is exposed.",
    ),
)
def check_plan(plan: Callable[[Offer], Any]) -> str:
    """Random offers, and each with nothing left over: whole samples, whole shards."""
    offers = [draw_offer() for _ in range(PLANS)]
    cases = [(one,) for offer in offers for one in (offer, _filled(offer))]

    def answer(offer: Offer) -> list[float]:
        return as_numbers(as_list(plan(offer), "(local_batch, learning_rate, efficiency)"), 3)

    pair = " (local_batch, learning_rate)"
    against(lambda offer: answer(offer)[:2], batch_and_rate, cases, why=lambda offer: pair)
    share = " (efficiency, within 5%)"
    against(lambda offer: answer(offer)[2], scaling, cases, rel_tol=0.05, why=lambda offer: share)
    return "random clusters of 8 GPUs: batch, learning rate, and efficiency within 5%"


def _filled(offer: Offer) -> Offer:
    """The same offer where whole samples fill the memory, and whole shards the largest batch."""
    rest = (offer.memory_bytes - offer.state_bytes) % offer.sample_bytes
    most = offer.largest_batch - offer.largest_batch % offer.n
    return replace(offer, memory_bytes=offer.memory_bytes - rest, largest_batch=most)
