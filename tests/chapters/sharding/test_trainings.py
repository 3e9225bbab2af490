"""The planner against what torchtitan and llm-foundry measured, where one row a code is fitted."""

import pytest

from course_utils.chapters.sharding import fit_efficiency, published_runs, step
from course_utils.chapters.sharding.splits import cluster


def test_the_needed_efficiency_gives_the_published_rate():
    for run in published_runs():
        found = step(run.work, run.split, cluster(run.cluster), fit_efficiency(run))
        assert found.tokens_per_s_gpu == pytest.approx(run.tokens_per_s_gpu, rel=1e-6)


def test_a_run_whose_messages_alone_take_longer_is_refused():
    run = published_runs()[0]._replace(tokens_per_s_gpu=1e9)
    with pytest.raises(ValueError, match="no efficiency explains 8B, eager"):
        fit_efficiency(run)
