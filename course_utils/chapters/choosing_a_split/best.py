"""All ways to split a model over a cluster that fit its memory, the quickest first."""

from dataclasses import replace

from course_utils.chapters.choosing_a_split.rank_bytes import held_bytes
from course_utils.chapters.choosing_a_split.splits import Cluster, Split
from course_utils.chapters.choosing_a_split.steps import Work, step
from course_utils.core.evidence import Row

ROOM = 0.7  # of the memory: published runs reserve up to a half more than the formula counts


def best_splits(
    work: Work, cluster: Cluster, gpus: int, efficiency: float, most: int = 5
) -> list[Row]:
    """The `most` quickest splits of `gpus` GPUs over data, tensor and pipeline that fit in memory.

    One for each pair of tensor and pipeline, with its best replicas, chunks and micro-batches.
    `work.lines` is the whole batch of a step here, divided among the groups that share lines. A
    split fits where the formula's bytes fill no more than the share ROOM of a GPU's memory.
    Raises: ValueError, which says by how much, where none fits, or where lines can't be shared.
    """
    tried = [_row(work, split, cluster, efficiency) for split in splits(work, gpus)]
    if not tried:
        raise ValueError(
            f"{work.lines} lines can't be shared among {gpus} GPUs in any way: take a power of 2"
        )
    limit = ROOM * cluster.memory_gb
    fitting = [row for row in tried if row["gb"] <= limit]
    if not fitting:
        least = min(tried, key=lambda row: row["gb"])
        raise ValueError(
            f"no split of {gpus} GPUs fits {work.shape.title}: the smallest needs "
            f"{least['gb']:.0f} GB a GPU, and {limit:.0f} are to be filled: take more GPUs, "
            "fewer lines or shorter ones"
        )
    ranked = sorted(fitting, key=lambda row: (-round(row["tokens_per_s_gpu"], 1), row["gb"]))
    first: dict[tuple[int, int], Row] = {}
    for row in ranked:
        first.setdefault((row["found"].tensor, row["found"].pipeline), row)
    return list(first.values())[:most]


def splits(work: Work, gpus: int) -> list[Split]:
    """Every split whose sizes divide the GPUs, the heads, the lines and the layers."""
    shape = work.shape
    heads = shape.kv_heads or shape.heads
    return [
        Split(data // replicate, replicate, tensor, pipeline, 1, chunks, micro)
        for tensor in range(1, heads + 1)
        if gpus % tensor == 0 and heads % tensor == 0
        for pipeline in range(1, gpus // tensor + 1)
        if gpus // tensor % pipeline == 0
        for data in [gpus // tensor // pipeline]
        if work.lines % data == 0
        for replicate in range(1, data + 1)
        if data % replicate == 0
        for chunks in ((1, 2) if pipeline > 1 else (1,))
        if pipeline * chunks <= shape.layers
        for micro in _micro_batches(work.lines // data, pipeline)
    ]


def _micro_batches(lines: int, pipeline: int) -> list[int]:
    """Into how many parts a group's lines can go, at least as many as there are stages."""
    return [parts for parts in range(pipeline, lines + 1) if lines % parts == 0]


def _row(work: Work, split: Split, cluster: Cluster, efficiency: float) -> Row:
    own = replace(work, lines=work.lines // split.shard // split.replicate)
    found = step(own, split, cluster, efficiency)
    return {
        "split": str(split),
        "chunks": split.chunks,
        "micro_batches": split.micro_batches,
        "tokens_per_s_gpu": found.tokens_per_s_gpu,
        "mfu": found.mfu,
        "gb": sum(held_bytes(own, split).values()) / 1e9,
        "found": split,
    }
