"""Which rank this process is, by what whoever started it told."""

import os

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
STARTERS = (  # what torchrun, Open MPI, Slurm and MPICH call these four
    NAMES,
    tuple(f"OMPI_COMM_WORLD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)


def find_ids() -> dict[str, str]:
    """RANK, WORLD_SIZE and their like, from whatever torchrun, mpirun or srun told.

    Raises: LookupError where none of them did.
    """
    for theirs in STARTERS:
        if theirs[0] in os.environ and theirs[1] in os.environ:
            pairs = zip(NAMES, theirs, strict=True)
            return {name: os.environ[their] for name, their in pairs if their in os.environ}
    raise LookupError("No rank in the environment: start this with torchrun, mpirun or srun.")
