"""The planner against what torchtitan and llm-foundry measured, where one row a code is fitted."""

import pytest

from course_utils.chapters.choosing_a_split import fit_efficiency, published_runs, step
from course_utils.chapters.choosing_a_split.splits import cluster


def test_the_needed_efficiency_gives_the_published_rate():
    for run in published_runs():
        found = step(run.work, run.split, cluster(run.cluster), fit_efficiency(run))
        assert found.tokens_per_s_gpu == pytest.approx(run.tokens_per_s_gpu, rel=1e-6)
