"""A split of a model over a mesh of GPUs, and the cluster that it runs on."""

import math
import tomllib
from dataclasses import dataclass
from functools import cache

from course_utils.core import files
from course_utils.core.evidence import published
from course_utils.core.gpus import gpu_specs

_published = cache(published)
AXES = ("pipeline", "replicate", "shard", "context", "tensor")


@dataclass(frozen=True)
class Split:
    """Ranks along each axis of the mesh. Raises: ValueError below 1.

    `shard` ranks share states by FSDP, `replicate` such groups repeat one another (HSDP), `tensor`
    ranks share each matrix, `context` ranks each sequence (and the shards, as in torchtitan),
    `pipeline` ranks the layers, in `chunks` stages a rank (1: 1F1B, more: interleaved).
    """

    shard: int = 1
    replicate: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    chunks: int = 1
    micro_batches: int = 1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (isinstance(value, int) and value >= 1):
                raise ValueError(f"{name} is a whole number of at least 1, not {value!r}")
        if self.chunks > 1 and self.pipeline == 1:
            raise ValueError("chunks are stages of a pipeline's rank: set pipeline, or chunks=1")
        if self.chunks > 1 and self.micro_batches < self.pipeline:
            few = f"{self.micro_batches} micro-batches keep at most as many ranks busy"
            raise ValueError(f"{few}: interleaved, a pipeline of {self.pipeline} wants more")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Along AXES; neighbours along the last differ by 1, as in torch's DeviceMesh."""
        return tuple(getattr(self, axis) for axis in AXES)

    @property
    def gpus(self) -> int:
        return math.prod(self.sizes)

    @property
    def sharers(self) -> int:  # of the same weights
        return self.shard * self.context

    def stride(self, axis: str) -> int:
        """The difference in rank between neighbours along an axis."""
        return math.prod(self.sizes[AXES.index(axis) + 1 :])

    def group(self, axis: str, rank: int) -> list[int]:
        """The ranks of `rank`'s group along an axis; "gather": those that share weights."""
        axis, size = ("context", self.sharers) if axis == "gather" else (axis, getattr(self, axis))
        first = rank - rank // self.stride(axis) % size * self.stride(axis)
        return [first + place * self.stride(axis) for place in range(size)]

    def __str__(self) -> str:
        named = dict(zip(AXES, self.sizes, strict=True))
        return " × ".join(f"{x} {n}" for x, n in reversed(named.items()) if n > 1) or "one GPU"


@dataclass(frozen=True)
class Cluster:
    """Nodes of equal GPUs, as data/clusters.toml explains them."""

    title: str
    gpu: str
    watts: int
    memory_gb: float
    node: int
    inside_gb_per_s: float
    between_gb_per_s: float
    source: str = ""

    @property
    def peak(self) -> float:
        """FLOP/s of a GPU by its data sheet, dense, in BF16, or FP16 where it has no BF16."""
        specs = gpu_specs(self.gpu)
        return 1e12 * float(specs.bf16 or specs.fp16) if specs else math.nan

    def members(self, size: int, stride: int) -> int:
        return max(1, min(size, self.node // stride))  # of a group's ranks, those in one node

    def bandwidth(self, size: int, stride: int) -> float:
        """Bytes a second of a ring of `size` ranks, `stride` apart; each brings a network port."""
        members = self.members(size, stride)
        inside = self.inside_gb_per_s if members > 1 else math.inf
        return 1e9 * min(inside, members * self.between_gb_per_s if members < size else inside)

    def seconds(self, size: int, stride: int, n_bytes: float) -> float:
        """A ring's all_gather to `n_bytes`, or reduce_scatter of them; with NCCL's latency.

        The factor by which NCCL lengthens rings between nodes is for all_reduce only.
        """
        if size == 1:
            return 0.0
        (row,) = _published("nccl_latencies").rows_where(algorithm="ring", protocol="Simple")
        nodes = size // self.members(size, stride)
        hops = (size - nodes) * row["nvlink_us"] + (nodes - 1) * row["network_us"]
        latency = 1e-6 * (row["base_us"] + hops)
        return n_bytes * (size - 1) / size / self.bandwidth(size, stride) + latency


def cluster(title: str = "H100, 400 Gbit/s") -> Cluster:
    """The cluster of that title. Raises: ValueError, with the titles there are, for another."""
    rows = tomllib.loads((files.DATA / "clusters.toml").read_text(encoding="utf-8"))["cluster"]
    found = {row["title"]: Cluster(**row) for row in rows}
    if title not in found:
        raise ValueError(f"no cluster {title!r}; there are {', '.join(found)}")
    return found[title]
