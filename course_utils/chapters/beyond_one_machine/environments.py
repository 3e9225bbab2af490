"""What launchers tell a process by its environment, drawn for an exercise.

Names from torchrun's, Open MPI's and Slurm's documentation. A Slurm batch script is one process,
yet slurmstepd gives it SLURM_PROCID and SLURM_LOCALID too; only srun sets SLURM_STEP_NUM_TASKS.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

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
