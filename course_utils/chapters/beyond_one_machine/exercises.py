"""Checkers for chapter 14, "Beyond one machine"."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any

from course_utils.chapters.beyond_one_machine.stopped_runs import Piece, pieces, seconds_of
from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.data_parallelism.scaling import (
    Cluster,
    efficiency,
    exposed_seconds,
    messages_seconds,
)
from course_utils.lesson.answers import as_list, as_number, as_numbers, close, shown
from course_utils.lesson.exercises import Wrong, exercise

# ---- Runs that are stopped now and then, drawn for an exercise, and what happens at their edges.

EDGES = (
    "no stop",
    "a stop cuts computing",
    "a stop cuts a save",
    "a stop cuts a restart",
    "a save ends as a stop comes",
    "a restart ends as a stop comes",
    "several saves between two stops",
    "a save ends at the length",
    "the length cuts a save",
    "the length cuts a restart",
    "a stop at the length",
    "a stop after the length",
    "a restart takes no time",
)


@dataclass(frozen=True)
class StoppedRun:
    """A run as the exercise gives it, in whole seconds."""

    stops: list[int]
    length: int
    interval: int
    save_seconds: int
    restart_seconds: int

    def pieces(self) -> list[Piece]:
        return pieces(*astuple(self))

    def __str__(self) -> str:
        return (
            f"stops {self.stops}, length {self.length}, interval {self.interval}, a save of "
            f"{self.save_seconds}, a restart of {self.restart_seconds}"
        )


def draw_run() -> StoppedRun:
    """Short and whole times, so that often two things happen in one second."""
    interval, save_seconds = random.randint(2, 20), random.randint(1, 8)
    restart_seconds, length = random.choice([0, *range(1, 15)]), random.randint(10, 120)
    stops = random.sample(range(1, length + 20), random.choice([0, 1, 1, 2, 3, 4, 6]))
    return StoppedRun(sorted(stops), length, interval, save_seconds, restart_seconds)


def edges_of(run: StoppedRun) -> set[str]:
    """Which of `EDGES` a run has."""
    found = run.pieces()
    edges = {_end_of(piece, run) for piece in found}
    work = [piece.kind for piece in found]
    facts = {
        "no stop": not run.stops,
        "several saves between two stops": any(
            work[at : at + 4] == ["kept", "saving"] * 2 for at in range(len(work))
        ),
        "a stop at the length": run.length in run.stops,
        "a stop after the length": any(stop > run.length for stop in run.stops),
        "a restart takes no time": bool(run.stops) and run.restart_seconds == 0,
    }
    return (edges & set(EDGES)) | {edge for edge, is_so in facts.items() if is_so}


def _end_of(piece: Piece, run: StoppedRun) -> str:
    """The edge at which a piece ends, in words; "" where nothing cuts it."""
    full = {"saving": run.save_seconds, "restarting": run.restart_seconds}.get(piece.kind)
    is_whole = piece.end - piece.start == full
    name = {"saving": "a save", "restarting": "a restart"}.get(piece.kind, "computing")
    if piece.end == run.length:
        return f"{name} ends at the length" if is_whole else f"the length cuts {name}"
    if piece.end in run.stops:
        return f"{name} ends as a stop comes" if is_whole else f"a stop cuts {name}"
    return ""


# ---- Clusters offered for a training run, drawn at random, and the right plan for each.


@dataclass(frozen=True)
class Offer:
    """A cluster and a model, as chapter 14's last exercise describes them; bytes, FLOP, seconds."""

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

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.n, self.flops_per_s, Link(self.alpha, self.beta))


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


def right_plan(offer: Offer) -> tuple[int, float, float]:
    """Local batch, learning rate and efficiency."""
    fits = (offer.memory_bytes - offer.state_bytes) // offer.sample_bytes
    local = min(fits, offer.largest_batch // offer.n)
    rate = offer.base_rate * math.sqrt(offer.n * local / offer.base_batch)
    flops = local * offer.sample_flops
    return local, rate, efficiency(offer.cluster, flops, offer.gradient_bytes, offer.buckets)


def kinds_of(offer: Offer) -> set[str]:
    """What this offer tests: what bounds the batch, what the step waits for."""
    local, _, found = right_plan(offer)
    fits = (offer.memory_bytes - offer.state_bytes) // offer.sample_bytes
    compute = local * offer.sample_flops / offer.flops_per_s
    messages = messages_seconds(offer.cluster, offer.gradient_bytes, offer.buckets)
    last = exposed_seconds(compute, messages, offer.buckets) == messages / offer.buckets
    kinds = {"memory bounds the batch" if fits == local else "largest_batch bounds the batch"}
    if offer.buckets > 1 and found < 0.9:
        kinds.add("only the last bucket shows" if last else "the network is the slower one")
    return kinds


# ---- What launchers tell a process by its environment, drawn for an exercise.

TORCHRUN = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
MPIRUN = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE")
SRUN = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS")
BY_HAND = (0, 0, 1)
Told = dict[str, str]


@dataclass(frozen=True)
class Place:
    """A process among those of a launcher: `each` on every machine, this one `local` of `node`."""

    nodes: int
    each: int
    node: int
    local: int

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Its rank, its local rank, and how many there are."""
        return self.node * self.each + self.local, self.local, self.nodes * self.each

    def told(self, names: tuple[str, str, str]) -> Told:
        return dict(zip(names, map(str, self.numbers), strict=True))


def draw_place() -> Place:
    """On the second machine or a later one: there rank and local rank differ."""
    nodes, each = random.randint(2, 6), random.randint(2, 8)
    return Place(nodes, each, random.randrange(1, nodes), random.randrange(each))


def _torchrun(place: Place) -> Told:
    return place.told(TORCHRUN) | {"GROUP_RANK": str(place.node), "MASTER_ADDR": "node0"}


def _mpirun(place: Place) -> Told:
    return place.told(MPIRUN) | {"OMPI_COMM_WORLD_LOCAL_SIZE": str(place.each)}


def _batch(place: Place) -> Told:
    """A batch script of a job of several tasks: one process, on the first machine."""
    tasks = str(place.nodes * place.each)
    return {"SLURM_JOB_ID": "4711", "SLURM_NTASKS": tasks} | dict.fromkeys(SRUN[:2], "0")


def _srun(place: Place) -> Told:
    told = place.told(SRUN)
    return _batch(place) | told | {"SLURM_NTASKS": told[SRUN[2]]}


def _one_a_machine(place: Place) -> Told:
    """What srun tells who starts the others of its machine: an agent, or MPI's daemon."""
    return _srun(replace(place, each=1, local=0))


def _keeps_the_jobs_count(place: Place) -> Told:
    """`srun --preserve-env` of a part of a job: SLURM_NTASKS stays the job's."""
    return _srun(place) | {"SLURM_NTASKS": str(place.nodes * place.each + 3)}


def _all_told_how_many(place: Place) -> Told:
    """What a script exports for all its ranks: it makes nobody torchrun's."""
    return {"WORLD_SIZE": str(place.nodes * place.each + 1), "MASTER_ADDR": "node0"}


RANKS: dict[str, Callable[[Place], Told]] = {
    "torchrun": _torchrun,
    "mpirun": _mpirun,
    "srun": _srun,
    "torchrun in a batch script": lambda place: _batch(place) | _torchrun(place),
    "torchrun, started by srun": lambda place: _one_a_machine(place) | _torchrun(place),
    "mpirun, started by srun": lambda place: _one_a_machine(place) | _mpirun(place),
    "torchrun, started by mpirun": lambda place: (
        _mpirun(replace(place, each=1, local=0)) | _torchrun(place)
    ),
    "srun --preserve-env": _keeps_the_jobs_count,
    "srun, and WORLD_SIZE exported": lambda place: _srun(place) | _all_told_how_many(place),
    "mpirun, and WORLD_SIZE exported": lambda place: _mpirun(place) | _all_told_how_many(place),
}
ALONE: dict[str, Callable[[Place], Told]] = {
    "started by hand": lambda _: {},
    "a batch script without srun": _batch,
    "by hand, and WORLD_SIZE exported": _all_told_how_many,
}
HALVES = {
    "torchrun": TORCHRUN[1:],
    "mpirun": MPIRUN[1:],
    "srun": SRUN[:2],
    "torchrun, started by srun": TORCHRUN[1:],
    "mpirun, started by srun": MPIRUN[1:],
}  # each with two names that may be missing; who launched is still told


def draw(kind: str) -> tuple[Told, tuple[int, int, int]]:
    """An environment of that kind, in a random order, and what its process is.

    Raises: KeyError for a kind that is neither in RANKS nor in ALONE.
    """
    place = draw_place()
    told = (RANKS | ALONE)[kind](place) | {"PATH": "/usr/bin", "HOME": "/home/you"}
    names = random.sample(sorted(told), len(told))
    return {name: told[name] for name in names}, BY_HAND if kind in ALONE else place.numbers


PLANS = 200


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
    kinds = RANKS | ALONE
    for kind in 10 * list(kinds):
        _judge_who(who, kind, *draw(kind))
    for kind, names in HALVES.items():
        told, _ = draw(kind)
        if len({_refusal(who, kind, told, name) for name in names}) == 1:
            raise Wrong(f"{kind}: one message, whichever of {' and '.join(names)} is missing")
    return f"{len(kinds)} kinds of environments, and with a name missing"


def _judge_who(who: Callable[..., Any], kind: str, told: dict[str, str], want: Any) -> None:
    given = dict(told)
    try:
        answer = who(given)
    except Exception as error:
        said = f"your code raised {type(error).__name__}: {error}"
        raise Wrong(f"{kind}, {told}: {said}, want {want}") from error
    got = tuple(as_numbers(as_list(answer, "(rank, local_rank, world_size)"), 3))
    if given != told:
        raise Wrong(f"{kind}: the environment was changed")
    if got != want or not all(isinstance(number, int) for number in got):
        raise Wrong(f"{kind}, {told}: want {want}, got {got}")


def _refusal(who: Callable[..., Any], kind: str, told: dict[str, str], missing: str) -> str:
    """What is said of an environment without the name `missing`; Wrong if not by ValueError."""
    half = {name: text for name, text in told.items() if name != missing}
    try:
        outcome = f"got {shown(who(half))}"
    except ValueError as error:
        if re.search(rf"\b{missing}\b", str(error)):
            return str(error)
        outcome = f"got ValueError: {error}"
    except Exception as error:
        outcome = f"got {type(error).__name__}: {error}"
    raise Wrong(f"{kind}, {half}: want a ValueError that names {missing}, {outcome}")


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
    """Random runs until each edge has come twenty times; those with fewest edges come first."""
    seen, runs = Counter[str](), list[tuple[StoppedRun, set[str]]]()
    while min(seen[edge] for edge in EDGES) < 20:
        run = draw_run()
        edges = edges_of(run)
        if any(seen[edge] < 20 for edge in edges):
            seen.update(edges)
            runs.append((run, edges))
    for run, edges in sorted(runs, key=lambda one: (len(one[1]), len(one[0].stops))):
        want, given = seconds_of("kept", run.pieces()), list(run.stops)
        got = as_number(kept_seconds(given, *astuple(run)[1:]))
        if given != run.stops:
            raise Wrong(f"{run}: the list of stops was changed")
        if got != want:
            named = ", ".join(edge for edge in EDGES if edge in edges)
            raise Wrong(f"{run} ({named}): want {want} seconds, got {got:g}")
    return f"random runs with {len(EDGES)} kinds of edges: exactly the seconds kept"


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
    """Random offers, until each kind of bound has come ten times; and each with nothing left."""
    seen, done = Counter[str](), 0
    while done < PLANS or min(seen.values()) < 10 or len(seen) < 4:
        offer = draw_offer()
        for one in (offer, _filled(offer)):
            _judge_plan(one, plan(one))
        seen.update(kinds_of(offer))
        done += 1
    return "random clusters of 8 GPUs: batch, learning rate, and efficiency within 5%"


def _filled(offer: Offer) -> Offer:
    """The same offer where whole samples fill the memory, and whole shards the largest batch."""
    rest = (offer.memory_bytes - offer.state_bytes) % offer.sample_bytes
    most = offer.largest_batch - offer.largest_batch % offer.n
    return replace(offer, memory_bytes=offer.memory_bytes - rest, largest_batch=most)


def _judge_plan(offer: Offer, answer: Any) -> None:
    want = "(local_batch, learning_rate, efficiency)"
    local, rate, found = as_numbers(as_list(answer, want), 3)
    right_local, right_rate, right = right_plan(offer)
    if local != right_local:
        raise Wrong(f"{offer}: a local batch of {local}, want {right_local}")
    if not close(rate, right_rate):
        raise Wrong(f"{offer}: a learning rate of {rate:.4g}, want {right_rate:.4g}")
    if not close(found, right, rel_tol=0.05):
        raise Wrong(f"{offer}: an efficiency of {found:.3f}, want {right:.3f} within 5%")
