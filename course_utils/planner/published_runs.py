"""Runs that others measured and published, beside what the planner and a rule of thumb say."""

from dataclasses import replace
from typing import NamedTuple

from course_utils.core.evidence import Row, published
from course_utils.planner.bytes_held import peak
from course_utils.planner.cards import needed
from course_utils.planner.plans import Plan
from course_utils.planner.shapes import shape

GIB = 2**30
PER_LAYER = {"none": (34, 0), "every second product": (17, 0)}  # bytes kept, and once again


class Run(NamedTuple):
    """A published run: its plan, its bytes, and what those count beside what is allocated."""

    name: str
    plan: Plan
    n_bytes: float
    counts: str  # "allocated", "reserved" or "with CUDA's context", as the driver sees it
    context: float = 0.0  # the bytes of that context


def held_against() -> list[Row]:
    """All published runs beside the formula and `rule_of_thumb`, in GiB (2**30).

    `formula_gib` is the planner's peak of what is allocated and, where the figure counts it, CUDA's
    context. A reserved figure is higher than an allocated one: by what, the formula doesn't know.
    `over_margin_gb` is above 0 where a card that the step fits, by `cards.needed`, would have been
    too small.
    """
    return [_row(run) for run in published_runs()]


def _row(run: Run) -> Row:
    found = peak(run.plan)
    safe = needed(found.total, found.always)[1]
    return {
        "run": run.name,
        "counts": run.counts,
        "published_gib": run.n_bytes / GIB,
        "formula_gib": (found.total + run.context) / GIB,
        "over_margin_gb": (run.n_bytes - safe) / 1e9,
        "rule_gib": (rule_of_thumb(run.plan) + run.context) / GIB,
    }


def rule_of_thumb(plan: Plan) -> float:
    """Bytes by the rule that people carry in their heads (stas00/ml-engineering, performance).

    16 bytes a parameter (all in BF16: 8), 6 a logit, and 34 a channel, token and layer (Korthikanti
    et al. 2022); checkpointed 2, and one layer's 34.
    """
    model, each = plan.shape, 8 if plan.recipe == "pure BF16" else 16
    kept, again = PER_LAYER.get(plan.checkpointing, (2, 34))
    logits = 0 if model.labels else 6 * model.vocabulary
    activations = model.width * (model.layers * kept + again)
    return each * model.parameters / plan.ranks + plan.tokens * (activations + logits)


def published_runs() -> list[Run]:
    """BERT-Large by two authors, CS336's snapshots, Llama 2 7B by torchao, torchtitan's 8B."""
    return [*_bert(), *_cs336(), *_seven_billion(), *_torchtitan()]


def _bert() -> list[Run]:
    """Runs in 2022 had torch 1.x, whose Adam made two lists of temporaries (chapter 9)."""
    optimizers = {"AdamW": "Adam", "Adafactor": "Adafactor", "Adam, 8 bits": "Adam 8-bit"}
    found = []
    for gpu, capability, context in (
        ("3090", (8, 6), 1e6 * published("cuda_context").rows[1]["mb"]),
        ("V100", (7, 0), 1343 * 2**20),
    ):
        for row in published(f"bert_large_{gpu.lower()}").rows:
            several = row["accumulate"] > 1
            plan = Plan(
                shape("BERT-Large"),
                row["batch"],
                recipe="AMP BF16" if row.get("precision") == "FP16" else "FP32",
                checkpointing="every block" if row.get("checkpointing") else "none",
                accumulates=several,
                optimizer=optimizers[row.get("optimizer", "AdamW")],
                capability=capability,
            )
            if gpu == "3090" and several:
                plan = replace(plan, optimizer="Adam of torch 2.0")
            ways = [row[way] for way in ("precision", "optimizer") if way in row]
            ways += ["checkpointed"] if row.get("checkpointing") else []
            name = ", ".join(["BERT-Large", gpu, _batch(row), *ways])
            found.append(Run(name, plan, row["mib"] * 2**20, "with CUDA's context", context))
    return found


def _batch(row: Row) -> str:
    return f"{row['accumulate']} × 1" if row["accumulate"] > 1 else f"batch {row['batch']}"


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


def _seven_billion() -> list[Run]:
    """The batch isn't stated: torchtune's recipe has 2 lines, here of 512 tokens."""
    llama = shape("Llama 2 7B")
    plan = Plan(llama, 2, 512, "pure BF16", "every block", "Adam, fused", capability=(8, 0))
    optimizers = {8: "Adam 8-bit", 4: "Adam 4-bit"}
    return [
        Run(
            f"Llama 2 7B, {row['optimizer']}",
            replace(plan, optimizer=optimizers.get(row["state_bits"], plan.optimizer)),
            row["peak_gib"] * GIB,
            "allocated",
        )
        for row in published("optimizers_7b").rows
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
