"""Checkers for chapter 16, "Beyond one machine"."""

import random
import re
import subprocess
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


OPTION = re.compile(r"(?<!\S)(--[a-z-]+|-[A-Za-z])[= ]*([^\s-]\S*)?")
LONG = {"-N": "--nodes", "-n": "--ntasks", "-t": "--time"}
FIRST = "node7"
ASKS = f"""scontrol() {{ [ "$1 $2" = "show hostnames" ] && printf '%s\\n' {FIRST} node8 node9; }}
hostname() {{ echo {FIRST}; }}
"""
TELLS = "\nprintf '\\0'; env -0"


def directives(text: str) -> dict[str, str]:
    """The options that sbatch reads of a script, by their long names: those above its commands."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#SBATCH "):
            for name, value in OPTION.findall(line.removeprefix("#SBATCH").split("#")[0]):
                found[LONG.get(name, name)] = value
        elif line.strip() and not line.startswith("#"):
            break
    return found


def time_seconds(text: str) -> int:
    """Seconds of one of Slurm's times: minutes, m:s, h:m:s, days-h, d-h:m or d-h:m:s."""
    days, dash, clock = text.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    hours = dash or len(parts) == 3
    h, m, s = [*parts, 0, 0][:3] if hours else [0, *parts, 0][:3]
    return ((int(days or 0) * 24 + h) * 60 + m) * 60 + s


@exercise(
    "beyond_one_machine.first_lines",
    todo="write first_lines(nodes, gpus, minutes): a script's lines above srun, as one string.",
    hints=(
        "Section 1's first batch script has every option that you need; its order is a rule, too: "
        "sbatch stops reading #SBATCH lines at the first command.",
        "An f-string in which nodes, gpus and minutes stand behind --nodes, behind both "
        "--ntasks-per-node and --gpus-per-node, and behind --time. The signal is B:USR1@120.",
    ),
)
def check_first_lines(first_lines: Callable[..., Any]) -> str:
    """Random jobs: the options as sbatch reads them, and the exports as bash runs them."""
    for _ in range(20):
        nodes, gpus, minutes = random.randint(2, 9), random.randint(2, 8), random.randint(10, 3000)
        text = first_lines(nodes, gpus, minutes)
        call = f"first_lines({nodes}, {gpus}, {minutes})"
        if not isinstance(text, str) or not text.startswith("#!/bin/"):
            raise Wrong(f"{call}: want a string that begins with #!/bin/bash, got {shown(text)}")
        _judge_directives(directives(text), call, nodes, gpus, minutes)
    ports = {_exported(text, str(job)) for job in range(4711, 4714)}
    if len(ports) < 3:
        raise Wrong("the jobs 4711, 4712 and 4713 don't get three ports: on one node they collide")
    return "20 jobs as sbatch reads them, and MASTER_ADDR and MASTER_PORT as bash exports them"


def _judge_directives(told: dict[str, str], call: str, nodes: int, gpus: int, minutes: int) -> None:
    tasks = {"--ntasks-per-node": str(gpus), "--ntasks": str(nodes * gpus)}
    held = {"--gpus-per-node": str(gpus), "--gres": f"gpu:{gpus}", "--gpus": str(nodes * gpus)}
    for what, ways in (("nodes", {"--nodes": str(nodes)}), ("tasks", tasks), ("GPUs", held)):
        given = {name: told[name] for name in ways if name in told}
        if not given or any(ways[name] != value for name, value in given.items()):
            raise Wrong(f"{call}: of {what}, sbatch reads {given or 'nothing'}, want {ways}")
    if {"--gpus-per-task", "--gpu-bind"} & set(told):
        raise Wrong(f"{call}: each task would see a single GPU; leave the binding out")
    time = told.get("--time", "")
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", time) or time_seconds(time) != minutes * 60:
        raise Wrong(f"{call}: sbatch reads --time={time or 'nothing'}, want {minutes} minutes")
    if not re.fullmatch(r"B:(SIG)?USR1@120", signal := told.get("--signal", "")):
        raise Wrong(
            f"{call}: --signal is {signal or 'missing'}; USR1 is for the script, 120 s before"
        )


def _exported(text: str, job: str) -> str:
    """The port that a script exports for a job. Wrong if it or the address isn't right."""
    told = {"SLURM_JOB_ID": job, "SLURM_JOB_NODELIST": "node[7-9]", "SLURMD_NODENAME": FIRST}
    done = subprocess.run(
        ["bash", "-c", ASKS + text + TELLS], env=told | {"PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if "=" in line)
    if found.get("MASTER_ADDR") != FIRST:
        got = found.get("MASTER_ADDR", "nothing")
        raise Wrong(f"on node[7-9], MASTER_ADDR is exported as {got!r}, want {FIRST!r}")
    port = found.get("MASTER_PORT", "")
    if not port.isdigit() or not 1024 <= int(port) < 65536:
        raise Wrong(f"MASTER_PORT is {port or 'not exported'}, want a number from 1024 to 65535")
    return port
