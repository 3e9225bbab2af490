"""What steps of real size say, for chapter 12: ratios for its claims, how they scale, tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from course_utils.core.evidence import Series, published, recorded
from course_utils.core.measurement import format_seconds
from course_utils.figures.tables import table

CHAPTER = "12_data_parallelism"
Row = Mapping[str, Any]


def worst(rows: Sequence[Row], column: str) -> float:
    """The largest of a column; NaN of what wasn't measured, for which no claim holds."""
    return max((row[column] for row in rows), default=float("nan"))


def first_over_others(rows: Sequence[Row]) -> float:
    """DataParallel's peak bytes on GPU 0 over those of the fullest other one; NaN if not timed."""
    for row in rows:
        if row["way"] == "DataParallel":
            return float(row["first_bytes"] / row["other_bytes"])
    return float("nan")


def buckets_over_one(rows: Sequence[Row]) -> float:
    """Seconds of a step with buckets of 25 MiB over those with one bucket; NaN if not timed."""
    took = {row["way"]: row["seconds"] for row in rows}
    return float(took.get("buckets of 25 MiB", float("nan")) / took.get("one bucket", 1.0))


def small_batch(rows: Sequence[Row]) -> float | None:
    """How long 32 images take on one GPU, relative to 256: of live rows, else of recorded ones."""
    rate = {
        row["batch"]: row["images_per_s"]
        for row in rows or _kept("resnet18_step")
        if row["gpus"] == 1
    }
    return 32 / rate[32] / (256 / rate[256]) if {32, 256} <= rate.keys() else None


def rates(images: Sequence[Row]) -> tuple[dict[str, float], Series | None, Series]:
    """ResNet-18's images a second by "GPUs × images each": live, recorded and d2l's."""
    source, kept = published("data_parallel_d2l"), recorded(f"{CHAPTER}/resnet18_step")
    epochs = [  # of 60,000 images
        {"gpus": row["gpus"], "batch": 256, "images_per_s": 60_000 / row["epoch_seconds"]}
        for row in source.rows
        if row["model"] == "ResNet-18"
    ]
    theirs = Series(_rates(epochs), "published", source.provenance)
    ours = kept and Series(_rates(kept.rows), "recorded", kept.provenance)
    return _rates(images), ours or None, theirs


def tables(texts: Sequence[Row], both: Sequence[Row], overlap: Sequence[Row]) -> list[Any]:
    """A table of each experiment, live and recorded; what nobody has timed has none."""
    found = {"gpt_small_step": texts, "dp_vs_ddp": both, "ddp_overlap": overlap, "ddp_by_hand": []}
    return [
        table(name.replace("_", " "), shown(rows), recorded(f"{CHAPTER}/{name}"))
        for name, rows in found.items()
        if rows or _kept(name)
    ]


def _rates(rows: Sequence[Row]) -> dict[str, float]:
    return {f"{row['gpus']} × {row['batch']}": row["images_per_s"] for row in rows}


def _kept(name: str) -> list[Row]:
    kept = recorded(f"{CHAPTER}/{name}")
    return list(kept.rows) if kept else []


def shown(rows: Sequence[Row]) -> list[Row]:
    """The rows as a table shows live ones: seconds and bytes with their units."""
    return [{column: _written(column, value) for column, value in row.items()} for row in rows]


def _written(column: str, value: Any) -> Any:
    if column.endswith("bytes"):
        return f"≈ {value / 1e9:.2f} GB"
    return format_seconds(value) if column.endswith("seconds") else value


# ---- How steps scale with the number of devices: as timed here, and as others published it.


def gpu_efficiency(rows: Sequence[Row], batch: int = 8) -> dict[int, float]:
    """Throughput a GPU relative to one GPU's, from rows of `gpt_small_step` with equal batches.

    Empty where fewer than two numbers of GPUs were timed, or one GPU wasn't.
    """
    rates = {row["gpus"]: row["tokens_per_s"] for row in rows if row["batch"] == batch}
    if 1 not in rates or len(rates) == 1:
        return {}
    return {n: rate / n / rates[1] for n, rate in rates.items()}


def published_efficiency() -> dict[str, Series]:
    """Throughput a device by number of devices, relative to the fewest that were published."""
    d2l, a100, h100 = map(
        published, ("data_parallel_d2l", "data_parallel_a100", "llm_foundry_h100")
    )
    found = {}
    for name, way in (("LeNet", "by hand"), ("ResNet-18", "DataParallel")):
        rows = [row for row in d2l.rows if row["model"] == name]
        found[f"{name}, {way}"] = _relative(
            {r["gpus"]: 1 / r["epoch_seconds"] / r["gpus"] for r in rows}, d2l
        )
    each = {row["gpus"]: row["tokens_per_s"] / row["gpus"] for row in a100.rows}
    found["GPT, A100"] = _relative(each, a100)
    rows = [row for row in h100.rows if row["model"] == "7B"]
    found["7B, H100, sharded"] = _relative(
        {row["gpus"]: row["tokens_per_s_gpu"] for row in rows}, h100
    )
    return found


def _relative(each: dict[int, float], source: Series) -> Series:
    first = each[min(each)]
    return Series({n: x / first for n, x in each.items()}, "published", source.provenance)
