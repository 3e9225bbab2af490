"""Checkers for chapter 16, "Beyond one machine"."""

import random
import re
from collections.abc import Callable
from typing import Any

from course_utils.chapters.beyond_one_machine.stopped_runs import pieces, seconds_of
from course_utils.lesson.answers import against, as_list, as_numbers, shown
from course_utils.lesson.exercises import Wrong, exercise

RUNS = 1000
Run = tuple[list[int], int, int, int, int]


def draw_run() -> Run:
    """Stops, length, interval, seconds of a save and of a restart.

    Short and whole times, so that often two things happen in one second.
    """
    interval, save_seconds = random.randint(2, 20), random.randint(1, 8)
    restart_seconds, length = random.choice([0, *range(1, 15)]), random.randint(10, 120)
    stops = random.sample(range(1, length + 20), random.choice([0, 1, 1, 2, 3, 4, 6]))
    return sorted(stops), length, interval, save_seconds, restart_seconds


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


# ---- What a hanging job's Flight Recorders hold, drawn for an exercise.

NAMES = ("all_gather_into_tensor", "all_reduce", "barrier", "broadcast", "reduce_scatter_tensor")
Held = tuple[int, int, str]


def draw_hang() -> tuple[list[str], Held]:
    """Mixed lines of all ranks' records, and what they show: the rank, the number, the name.

    One rank never calls the collective, or calls it one number late and another in its place.
    """
    count, number = random.randint(3, 12), random.choice([3, 9, 10, 41, 99, 100, 1000])
    names = [f"nccl:{random.choice(NAMES)}" for _ in range(number + 3)]
    guilty, swaps = random.randrange(count), random.random() < 0.5
    other = random.choice([f"nccl:{name}" for name in NAMES if f"nccl:{name}" != names[number]])
    log = []
    for rank in range(count):
        last = number + random.randint(0, 2)
        mine = list(names)
        if rank == guilty and swaps:
            mine[number : number + 2] = other, names[number]
        elif rank == guilty:
            last = number - 1
        for one in range(number - random.randint(1, 2), last + 1):
            state = "completed" if one < number else "started" if one == number else "scheduled"
            log.append(f"[rank {rank}] {one} {mine[one]} {state}")
    random.shuffle(log)
    return log, (guilty, number, names[number])


@exercise(
    "beyond_one_machine.held_up",
    todo="write held_up(log): (rank, number, name): whom the others wait for, and in what.",
    hints=(
        "The ranks wait in the first collective that isn't complete: the smallest number, as an "
        "int, among the lines that don't end with completed.",
        "Of the lines with that number, keep the name by rank. The name that most ranks have is "
        "the collective's. Then look for the one of all ranks that doesn't have it.",
    ),
)
def check_held_up(held_up: Callable[..., Any]) -> str:
    """Random hangs of both kinds; an answer is known by how the log was made."""
    drawn = [draw_hang() for _ in range(RUNS)]
    shows = {tuple(log): held for log, held in drawn}

    def reference(log: list[str]) -> Held:
        return shows[tuple(log)]

    against(held_up, reference, [(log,) for log, _ in drawn])
    return f"{RUNS:,} logs: each time the rank that holds up the others, and their collective"
