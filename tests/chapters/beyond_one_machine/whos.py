"""Answers to `who`: right ones in other ways, and wrong ones as a student might write them."""

import os

import numpy as np

TORCHRUN = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
MPIRUN = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE")
SRUN = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS")
MARKED = (("RANK", TORCHRUN), ("OMPI_COMM_WORLD_RANK", MPIRUN), ("SLURM_STEP_NUM_TASKS", SRUN))


def _who(environment, marked=MARKED, alone=(0, 0, 1)):
    for mark, names in marked:
        if mark in environment:
            if missing := set(names) - set(environment):
                raise ValueError(f"no {min(missing)}")
            return tuple(int(environment[name]) for name in names)
    return alone


def by_ifs(environment):
    if "RANK" in environment:
        names = TORCHRUN
    elif "OMPI_COMM_WORLD_RANK" in environment:
        names = MPIRUN
    elif "SLURM_STEP_NUM_TASKS" in environment:
        names = SRUN
    else:
        return [0, 0, 1]
    numbers = [environment.get(name) for name in names]
    if None in numbers:
        raise ValueError(f"What is {names[numbers.index(None)]}?")
    return list(map(int, numbers))


def by_key_errors(environment):
    for mark, names in MARKED:
        if environment.get(mark) is not None:
            try:
                return tuple(int(environment[name]) for name in names)
            except KeyError as error:
                raise ValueError(f"{error} isn't in {sorted(environment)}") from None
    return 0, 0, 1


def from_the_outermost_in(environment):
    found, names = (0, 0, 1), ()
    for mark, those in reversed(MARKED):
        names = those if mark in environment else names
    for name in names:
        if name not in environment:
            raise ValueError(name)
    return tuple(int(environment[name]) for name in names) or found


def of_numpy(environment):
    return np.array(_who(environment))


def reads_its_own_environment(environment):
    return _who(os.environ)


def knows_torchrun_only(environment):
    return _who(environment, MARKED[:1])


def knows_no_mpirun(environment):
    return _who(environment, MARKED[::2])


def srun_wins(environment):
    return _who(environment, MARKED[::-1])


def srun_before_mpirun(environment):
    return _who(environment, (MARKED[0], MARKED[2], MARKED[1]))


def mpirun_wins(environment):
    return _who(environment, (MARKED[1], MARKED[0], MARKED[2]))


def a_batch_script_is_a_rank(environment):
    return _who(environment, (*MARKED[:2], ("SLURM_PROCID", (*SRUN[:2], "SLURM_NTASKS"))))


def a_batch_script_lacks_a_name(environment):
    return _who(environment, (*MARKED[:2], ("SLURM_PROCID", SRUN)))


def counts_the_jobs_tasks(environment):
    srun = (*SRUN[:2], "SLURM_NTASKS")
    return _who(environment, (*MARKED[:2], ("SLURM_STEP_NUM_TASKS", srun)))


def a_count_makes_it_torchruns(environment):
    return _who(environment, (("WORLD_SIZE", TORCHRUN), *MARKED))


def any_name_of_all(environment):
    return tuple(
        int(next((environment[name] for name in names if name in environment), alone))
        for names, alone in zip(zip(TORCHRUN, MPIRUN, SRUN, strict=True), (0, 0, 1), strict=True)
    )


def the_rank_is_the_gpu(environment):
    rank, _, count = _who(environment)
    return rank, rank, count


def gpu_before_rank(environment):
    rank, local, count = _who(environment)
    return local, rank, count


def alone_is_of_none(environment):
    return _who(environment, alone=(0, 0, 0))


def alone_is_nobody(environment):
    return _who(environment, alone=None)


def texts(environment):
    return tuple(map(str, _who(environment)))


def floats(environment):
    return tuple(map(float, _who(environment)))


def as_one_digit(environment):
    return tuple(number % 10 for number in _who(environment))


def a_half_is_none(environment):
    return _who(environment, [(m, n) for m, n in MARKED if set(n) <= set(environment)])


def a_half_has_zeros(environment):
    return _who(environment | {name: environment.get(name, "0") for name in _found(environment)})


def a_half_is_a_key_error(environment):
    return tuple(int(environment[name]) for name in _found(environment)) or (0, 0, 1)


def a_half_is_no_number(environment):
    return tuple(int(environment.get(name, "")) for name in _found(environment)) or (0, 0, 1)


def a_half_lacks_something(environment):
    names = _found(environment)
    if set(names) - set(environment):
        raise ValueError(f"one of {', '.join(names)} is missing")
    return _who(environment)


def forgets_the_local_rank(environment):
    names = _found(environment)
    if names and names[1] not in environment:
        environment = environment | {names[1]: "0"}
    return _who(environment)


def takes_what_it_reads(environment):
    who = _who(environment)
    for name in _found(environment):
        environment.pop(name)
    return who


def _found(environment):
    return next((names for mark, names in MARKED if mark in environment), ())


WRONG = {
    "beyond_one_machine.who": [
        reads_its_own_environment,
        knows_torchrun_only,
        knows_no_mpirun,
        srun_wins,
        srun_before_mpirun,
        mpirun_wins,
        a_batch_script_is_a_rank,
        a_batch_script_lacks_a_name,
        counts_the_jobs_tasks,
        a_count_makes_it_torchruns,
        any_name_of_all,
        the_rank_is_the_gpu,
        gpu_before_rank,
        alone_is_of_none,
        alone_is_nobody,
        texts,
        floats,
        as_one_digit,
        a_half_is_none,
        a_half_has_zeros,
        a_half_is_a_key_error,
        a_half_is_no_number,
        a_half_lacks_something,
        forgets_the_local_rank,
        takes_what_it_reads,
    ]
}
