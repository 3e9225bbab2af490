"""Published trainings beside the planner: one run of each code is fitted, the others predicted.

The fitted number is the efficiency: the share of the data sheet's peak that computing reaches.
"""

from typing import NamedTuple

from course_utils.chapters.choosing_a_split.steps import Step, Work, step
from course_utils.core.evidence import Row, published
from course_utils.planner.plans import forward_flops
from course_utils.planner.shapes import Shape, shape
from course_utils.planner.splits import Split, cluster

TITAN = ("torchtitan, eager", "torchtitan, compiled", "torchtitan, float8")
CHECKPOINTED = ("13B", "30B", "70B")


class Run(NamedTuple):
    """A published training: its code, what it measured, and GiB of memory where that is printed."""

    code: str
    name: str
    work: Work
    split: Split
    cluster: str
    tokens_per_s_gpu: float
    memory_gib: float | None = None

    def predict(self, efficiency: float) -> Step:
        """Its step where computing reaches that share of the peak."""
        return step(self.work, self.split, cluster(self.cluster), efficiency)


def published_runs() -> list[Run]:
    """torchtitan's Llamas and llm-foundry's MPTs; the first of each code is the one to fit."""
    peaks = published("torchtitan_memory").rows_where(loss_compiled=True)
    compiled = [row["memory_gib"] for row in peaks]
    titan = [_titan(row, compiled) for row in published("torchtitan_speed").rows]
    return [*titan, *(_foundry(row) for row in published("llm_foundry_h100").rows)]


def _titan(row: Row, compiled: list[float]) -> Run:
    code = TITAN[2] if row["float8"] else TITAN[row["compiled"]]
    sizes = ("shard", "tensor", "pipeline", "context", "chunks", "micro_batches")
    work = Work(
        shape(row["model"]), row["lines"], row["tokens"], row["checkpointing"], row["float8"],
        row["async_tensor"], compiled_loss=row["memory_gib"] in compiled,
    )  # fmt: skip
    split = Split(**{size: row[size] for size in sizes})
    name = row["run"].replace("lines of", "sequences of")
    return Run(code, name, work, split, row["machine"], row["tokens_per_s_gpu"], row["memory_gib"])


def _foundry(row: Row) -> Run:
    work = Work(
        shape(f"MPT {row['model']}"),
        row["lines"],
        checkpointing="every block" if row["model"] in CHECKPOINTED else "none",
        keeps_gathered=row["collectives"] == 2,
    )
    name, rate = f"MPT {row['model']}", row["tokens_per_s_gpu"]
    return Run("llm-foundry", name, work, Split(row["gpus"]), "H100, 400 Gbit/s", rate)


def v100_runs(by: str = "megatron") -> list[Run]:
    """Small GPTs in FP16 on 1 to 32 V100, split in different ways over equal numbers of GPUs.

    `by` is "megatron" or "oneflow". The first is to be fitted: one GPU.
    """
    runs = []
    for row in published("parallelism_v100").rows:
        heads = row["width"] // 96 if row["width"] % 96 == 0 else row["width"] // 64
        model = Shape("a small GPT", row["layers"], row["width"], heads, 4 * row["width"],
                      50_304, 2048, biases=True)  # fmt: skip
        sequences = row["global_batch"] // row["dp"]
        micro = sequences // row["lines"]
        split = Split(1, row["dp"], row["tp"], row["pp"], micro_batches=micro)
        rate = row["global_batch"] * 2048 / row[f"{by}_seconds"] / split.gpus
        work = Work(model, sequences)
        runs.append(Run(by, row["split"], work, split, "V100, 100 Gbit/s a server", rate))
    return runs


def llama_405b_runs(chunks: int) -> list[Run]:
    """Meta's runs on sequences of 8,192 tokens, on 8,192 and 16,384 GPUs; nothing is recomputed.

    `chunks` are the stages of a pipeline's rank. The paper doesn't print V, but 8 follows from its
    section 3.3.2: a stage less one layer has only the embedding, so (126 + 2) layers / 16 ranks.
    """
    runs = []
    for row in published("llama3_405b").rows_where(sequence=8192):
        sequences = row["lines_per_dp"]
        split = Split(row["dp"], 1, row["tp"], row["pp"], row["cp"], chunks, sequences)
        work = Work(shape("Llama 3 405B"), sequences, checkpointing="none")
        plan = work.plan(split)
        rate = 1e12 * row["tflops_per_gpu"] * plan.tokens / (3 * forward_flops(plan))
        runs.append(Run("Meta", "405B", work, split, "H100, 400 Gbit/s", rate))
    return runs


def fit_efficiency(run: Run) -> float:
    """The share of the peak with which the formula gives the run's own throughput."""
    low, high = 1e-3, 10.0
    for _ in range(34):
        middle = (low + high) / 2
        slow = run.predict(middle).tokens_per_s_gpu < run.tokens_per_s_gpu
        low, high = (middle, high) if slow else (low, middle)
    return low
