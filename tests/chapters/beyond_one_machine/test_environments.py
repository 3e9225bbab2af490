"""The environments that exercise 1 draws: each kind is what it is called."""

import pytest

from course_utils.chapters.beyond_one_machine import environments
from course_utils.chapters.beyond_one_machine.environments import BY_HAND, MPIRUN, SRUN, TORCHRUN


def told_of(kind):
    told, numbers = environments.draw(kind)
    return told, tuple(map(str, numbers))


@pytest.mark.parametrize(
    "names, kind", [(TORCHRUN, "torchrun"), (MPIRUN, "mpirun"), (SRUN, "srun")]
)
def test_a_launcher_tells_the_three_numbers_by_its_names(names, kind):
    told, numbers = told_of(kind)
    assert tuple(told[name] for name in names) == numbers


@pytest.mark.parametrize("kind", [kind for kind in environments.RANKS if "started by" in kind])
def test_of_two_launchers_the_inner_one_is_right_and_the_outer_is_whole(kind):
    told, numbers = told_of(kind)
    inner, outer = kind.split(", started by ")
    names = {"torchrun": TORCHRUN, "mpirun": MPIRUN, "srun": SRUN}
    assert tuple(told[name] for name in names[inner]) == numbers
    assert set(names[outer]) <= set(told) and told[names[outer][2]] != numbers[2]


@pytest.mark.parametrize("kind", environments.RANKS)
def test_a_rank_is_never_its_own_local_rank(kind):
    for _ in range(50):
        _, (rank, local, count) = environments.draw(kind)
        assert local < rank < count


def test_a_batch_script_has_sruns_names_but_not_its_count():
    told, _ = environments.draw("a batch script without srun")
    assert set(SRUN) - set(told) == {SRUN[2]} and told["SLURM_NTASKS"] != "1"


def test_who_keeps_the_jobs_environment_is_told_two_counts():
    told, _ = environments.draw("srun --preserve-env")
    assert told["SLURM_NTASKS"] != told[SRUN[2]]


@pytest.mark.parametrize("kind", environments.ALONE)
def test_whoever_is_alone_has_no_launchers_mark(kind):
    told, numbers = environments.draw(kind)
    assert numbers == BY_HAND and not {"RANK", "OMPI_COMM_WORLD_RANK", SRUN[2]} & set(told)
