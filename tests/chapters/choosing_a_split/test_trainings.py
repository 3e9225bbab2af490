"""Published trainings as the planner reads them."""

import pytest

from course_utils.chapters.choosing_a_split import (
    fit_efficiency,
    llama_405b_runs,
    published_runs,
    v100_runs,
)
from course_utils.core.evidence import published

RUNS = [*published_runs(), *v100_runs(), *v100_runs("oneflow"), *llama_405b_runs(8)]


def test_the_fitted_efficiency_gives_the_published_rate():
    for run in RUNS[::9]:
        found = run.predict(fit_efficiency(run))
        assert found.tokens_per_s_gpu == pytest.approx(run.tokens_per_s_gpu, rel=1e-6)


def test_v100_runs_have_the_vocabulary_and_sizes_by_which_their_flops_were_counted():
    """Megatron-LM's formula (Narayanan et al. 2021): 96 B s l h² (1 + s/6h + V/16lh)."""
    for run, row in zip(v100_runs(), published("parallelism_v100").rows, strict=True):
        shape, s = run.work.shape, run.work.length
        layers, width = shape.layers, shape.width
        more = 1 + s / 6 / width + shape.vocabulary / 16 / layers / width
        flops = 96 * layers * width**2 * more * run.tokens_per_s_gpu
        assert flops / 1e12 == pytest.approx(row["megatron_tflops_per_gpu"], rel=0.01)


def test_metas_rates_are_their_published_flops():
    for run, row in zip(llama_405b_runs(8), published("llama3_405b").rows, strict=False):
        found = run.predict(fit_efficiency(run))
        assert 989 * found.mfu == pytest.approx(row["tflops_per_gpu"], rel=1e-4)
