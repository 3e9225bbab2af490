"""How exercise 3 reads a batch script: as sbatch does, by its manual."""

import pytest

from course_utils.chapters.beyond_one_machine import script
from course_utils.chapters.beyond_one_machine.exercises import directives, time_seconds


def test_the_pages_script_has_the_options_that_one_sees():
    assert directives(script("ranks_by_srun.sbatch")) == {
        "--job-name": "train", "--nodes": "2", "--ntasks-per-node": "2", "--gpus-per-node": "2",
        "--cpus-per-task": "8",
        "--time": "08:00:00", "--output": "train-%j.log", "--open-mode": "append",
        "--requeue": "", "--signal": "B:USR1@300",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text, seconds",
    [("90", 5400), ("1:30", 90), ("1:00:01", 3601), ("1-2", 93600), ("1-2:3", 93780),
     ("1-2:3:4", 93784)],
)  # fmt: skip
def test_a_time_is_what_slurms_manual_says(text, seconds):
    assert time_seconds(text) == seconds
