#!/bin/bash
# Gives a process that srun or mpirun started the names that torch reads, then runs the command.
export RANK=${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}
export LOCAL_RANK=${OMPI_COMM_WORLD_LOCAL_RANK:-$SLURM_LOCALID}
export WORLD_SIZE=${OMPI_COMM_WORLD_SIZE:-$SLURM_STEP_NUM_TASKS}
exec "$@"
