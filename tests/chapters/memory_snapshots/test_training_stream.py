"""The made-up training run: the same for the same seed."""

import pytest

from course_utils.chapters.memory_snapshots.training_stream import training_program
from course_utils.memory.what_if import run

pytestmark = pytest.mark.without_torch


def test_the_made_up_training_run_is_the_same_for_the_same_seed_and_frees_what_it_should():
    program = training_program(seed=5)
    assert program == training_program(seed=5) != training_program(seed=6)
    found = run(program)
    weights = sum(s.size for s in program.steps[:49])
    assert found.allocated[-1] == pytest.approx(3 * weights, rel=0.02)
    freed = [s.key for s in program.steps if s.action == "free"]
    assert len(freed) == len(set(freed))
