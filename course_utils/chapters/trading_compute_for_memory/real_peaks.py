"""Runs that others measured and published, beside what the planner says of them."""

from typing import NamedTuple

from course_utils.chapters.trading_compute_for_memory.model_shapes import shape
from course_utils.chapters.trading_compute_for_memory.planner import Moment, peak
from course_utils.chapters.trading_compute_for_memory.plans import Plan
from course_utils.core.evidence import Row, published

GIB = 2**30


class Run(NamedTuple):
    """A published run: its plan, its bytes, and what those count beside what is handed out."""

    name: str
    plan: Plan
    n_bytes: float
    counts: str  # "allocated", "context" (what nvidia-smi says) or "reserved"


def held_against() -> list[Row]:
    """The published runs beside the formula, in GiB (2**30), in an order by who measured.

    `formula` is the planner's peak of what is handed out, `off_percent` by how much it is too high
    (negative: too low). `counted` adds what the published figure counts too (`also_counted`), and
    `counted_off_percent` is what then is left unexplained.
    """
    return [_row(run, peak(run.plan)) for run in published_runs()]


def _row(run: Run, found: Moment) -> Row:
    counted = found.total + sum(also_counted(run).values())
    return {
        "run": run.name,
        "published_gib": run.n_bytes / GIB,
        "formula_gib": found.total / GIB,
        "off_percent": 100 * (found.total / run.n_bytes - 1),
        "counts": run.counts,
        "counted_gib": counted / GIB,
        "counted_off_percent": 100 * (counted / run.n_bytes - 1),
        "moment": found.name,
    }


def also_counted(run: Run) -> dict[str, int]:
    """Bytes that a published figure counts and the formula doesn't, by what they are.

    Allocated: none. What nvidia-smi shows: the CUDA context. Reserved, with FSDP2: gradients and
    gathered weights come from the pools of streams of their own, which the peak of the main
    stream can't use (torch, distributed/fsdp/_fully_shard/_fsdp_collectives.py,
    `foreach_all_gather` and `foreach_reduce`); and where 16-bit logits are freed before the
    backward pass, the hole that they leave is too small for an FP32 gradient.
    """
    plan, model = run.plan, run.plan.shape
    if run.counts == "allocated":
        return {}
    if run.counts == "context":
        return {"CUDA context": round(1e6 * published("cuda_context").rows[0]["mb"])}
    logits = 0 if plan.compiled_loss else plan.tokens * model.vocabulary
    return {
        "gradients' own pool": model.parameters * plan.format.weights // plan.ranks,
        "gathered weights' own pool": 2 * (model.embeddings + model.block_parameters),
        "the hole of the 16-bit logits": 2 * logits,
    }


def published_runs() -> list[Run]:
    """BERT-Large on an RTX 3090, CS336's snapshots, and torchtitan's runs of 8B."""
    return [*_bert(), *_cs336(), *_torchtitan()]


def _bert() -> list[Run]:
    """The accumulating run's Adam made two lists of temporaries (chapter 9)."""
    found = []
    for row in published("bert_large_3090").rows:
        several = row["accumulate"] > 1
        plan = Plan(
            shape("BERT-Large"),
            row["batch"],
            recipe="FP32",
            accumulates=several,
            optimizer="Adam of torch 2.0" if several else "Adam",
            capability=(8, 6),
        )
        way = f"{row['accumulate']} × batch 1" if several else f"batch {row['batch']}"
        found.append(Run(f"BERT-Large, {way}", plan, row["mib"] * 2**20, "context"))
    return found


def _cs336() -> list[Run]:
    titles = {24: "CS336 medium", 48: "CS336 xl"}
    return [
        Run(
            f"{titles[row['layers']]}, {row['run']}",
            Plan(
                shape(titles[row["layers"]]),
                row["batch"],
                row["tokens"],
                recipe="AMP BF16" if "autocast" in row["run"] else "FP32",
                accumulates="forward" in row["run"],
                optimizer="Adam written out",
                capability=(8, 0),
            ),
            row["allocated_bytes"],
            "allocated",
        )
        for row in published("transformer_peaks").rows
    ]


def _torchtitan() -> list[Run]:
    return [
        Run(
            f"Llama 3.1 8B, {row['run']}",
            Plan(
                shape("Llama 3 8B"),
                row["batch"],
                row["tokens"],
                recipe="sharded, BF16",
                checkpointing=row["checkpointing"],
                compiled=row["compiled"],
                compiled_loss=row["loss_compiled"],
                ranks=row["gpus"],
            ),
            row["memory_gib"] * GIB,
            "reserved",
        )
        for row in published("torchtitan_memory").rows
    ]


def held_against_rows() -> list[dict[str, str]]:
    """`held_against` as rows of a table, in words."""
    return [
        {
            "run": row["run"],
            "published, GiB": f"{row['published_gib']:.2f}",
            "formula, GiB": f"{row['formula_gib']:.2f}",
            "off": f"{row['off_percent']:+.1f}%",
            "the figure also counts": ALSO[row["counts"]],
            "then off": f"{row['counted_off_percent']:+.1f}%",
        }
        for row in held_against()
    ]


ALSO = {
    "allocated": "nothing",
    "context": "CUDA context",
    "reserved": "pools of other streams, a hole",
}
