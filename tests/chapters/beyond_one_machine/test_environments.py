"""The environments that exercise 1 draws: each kind is what it is called."""

import pytest

from course_utils.chapters.beyond_one_machine.exercises import (
    BY_HAND,
    MPIRUN,
    SRUN,
    TORCHRUN,
    environments,
)

NAMES = {"torchrun": TORCHRUN, "mpirun": MPIRUN, "srun": SRUN}
ALONE = [kind for kind, (_, numbers) in environments().items() if numbers == BY_HAND]
NESTED = [kind for kind in environments() if "started by" in kind]


@pytest.mark.parametrize("kind", [*NAMES, *NESTED])
def test_the_innermost_launcher_tells_the_three_numbers_and_an_outer_one_is_whole(kind):
    told, numbers = environments()[kind]
    inner, _, outer = kind.partition(", started by ")
    assert tuple(told[name] for name in NAMES[inner]) == tuple(map(str, numbers))
    if outer:
        assert set(NAMES[outer]) <= set(told) and told[NAMES[outer][2]] != str(numbers[2])


def test_a_rank_is_never_its_own_local_rank():
    for _ in range(50):
        drawn = [numbers for _, numbers in environments().values() if numbers != BY_HAND]
        assert all(local < rank < count for rank, local, count in drawn)


def test_a_batch_script_has_sruns_names_but_not_its_count_and_srun_may_keep_the_jobs():
    told, _ = environments()["a batch script without srun"]
    assert set(SRUN) - set(told) == {SRUN[2]} and told["SLURM_NTASKS"] != "1"
    told, _ = environments()["srun --preserve-env"]
    assert told["SLURM_NTASKS"] != told[SRUN[2]]


@pytest.mark.parametrize("kind", ALONE)
def test_whoever_is_alone_has_no_launchers_mark(kind):
    told, _ = environments()[kind]
    assert not {"RANK", "OMPI_COMM_WORLD_RANK", SRUN[2]} & set(told)
