"""Published trainings beside the planner: one row of each kind of code is fitted, all others not.

The fitted number is the share of the peak that computing reaches.
"""

from typing import NamedTuple

from course_utils.chapters.choosing_a_split.splits import Split, cluster
from course_utils.chapters.choosing_a_split.steps import Step, Work, step
from course_utils.core.evidence import Row, published
from course_utils.planner.shapes import shape

TITAN = ("torchtitan, eager", "torchtitan, compiled", "torchtitan, float8")
FOUNDRY = "llm-foundry"
FOUNDRY_CLUSTER = "H100, 400 Gbit/s"
CHECKPOINTED = ("13B", "30B", "70B")


class Run(NamedTuple):
    """A published training: the code that ran it, its tokens a second and GPU."""

    code: str
    name: str
    work: Work
    split: Split
    cluster: str
    tokens_per_s_gpu: float

    def predict(self, efficiency: float) -> Step:
        """Its step where computing reaches that share of the peak."""
        return step(self.work, self.split, cluster(self.cluster), efficiency)


def published_runs() -> list[Run]:
    """torchtitan's Llamas and llm-foundry's MPTs; the first of each code is the one to fit."""
    titan = [_titan(row) for row in published("torchtitan_speed").rows]
    return [*titan, *(_foundry(row) for row in published("llm_foundry_h100").rows)]


def _titan(row: Row) -> Run:
    code = TITAN[2] if row["float8"] else TITAN[row["compiled"]]
    sizes = ("shard", "tensor", "pipeline", "context", "chunks", "micro_batches")
    work = Work(
        shape(row["model"]),
        row["lines"],
        row["tokens"],
        row["checkpointing"],
        row["float8"],
        row["async_tensor"],
    )
    split = Split(**{size: row[size] for size in sizes})
    return Run(code, row["run"], work, split, row["machine"], row["tokens_per_s_gpu"])


def _foundry(row: Row) -> Run:
    work = Work(
        shape(f"MPT {row['model']}"),
        row["lines"],
        checkpointing="every block" if row["model"] in CHECKPOINTED else "none",
        keeps_gathered=row["collectives"] == 2,
    )
    split = Split(row["gpus"])
    name = f"MPT {row['model']}"
    return Run(FOUNDRY, name, work, split, FOUNDRY_CLUSTER, row["tokens_per_s_gpu"])


def fit_efficiency(run: Run) -> float:
    """The share of the peak with which the formula gives the run's own throughput."""
    low, high = 1e-3, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        slow = run.predict(middle).tokens_per_s_gpu < run.tokens_per_s_gpu
        low, high = (middle, high) if slow else (low, middle)
    return low


def held_out() -> list[Row]:
    """A row for each published run, by code; the first of a code's runs is fitted.

    `off_percent` is by how much the formula says too much (negative: too little), `needs` the
    efficiency that would have made it right.
    """
    runs = published_runs()
    rows: list[Row] = []
    for code in (*TITAN, FOUNDRY):
        own = [run for run in runs if run.code == code]
        efficiency = fit_efficiency(own[0])
        rows += [_row(run, efficiency, run is own[0]) for run in own]
    return rows


def _row(run: Run, efficiency: float, fitted: bool) -> Row:
    found = run.predict(efficiency)
    return {
        "code": run.code,
        "run": run.name,
        "model": run.work.shape.title,
        "line": run.work.line,
        "cluster": run.cluster,
        "gpus": run.split.gpus,
        "split": str(run.split),
        "published": run.tokens_per_s_gpu,
        "formula": found.tokens_per_s_gpu,
        "off_percent": 100 * (found.tokens_per_s_gpu / run.tokens_per_s_gpu - 1),
        "fitted": fitted,
        "efficiency": efficiency,
        "needs": fit_efficiency(run),
    }
