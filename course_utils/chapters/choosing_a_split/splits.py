"""Which ranks work together: a model split over a mesh of GPUs, and the machines these stand in."""

import math
import tomllib
from dataclasses import dataclass
from functools import cache

from course_utils.chapters.collectives.costs import Link
from course_utils.core import files
from course_utils.core.evidence import EvidenceError
from course_utils.core.gpus import Specs, explain_unknown, gpu_specs

FILE = files.DATA / "clusters.toml"
AXES = ("pipeline", "replicate", "shard", "context", "tensor")


@dataclass(frozen=True)
class Split:
    """How many ranks share each of a step's axes; their product is the number of GPUs.

    `shard` ranks share weights and states, and have lines of their own; `replicate` such groups
    repeat one another (HSDP). `tensor` ranks share each matrix, `context` ranks each line (and the
    shards too, as in torchtitan), `pipeline` ranks the layers, in `chunks` pieces a rank (1: 1F1B,
    more: interleaved). `micro_batches` run one after the other.
    Raises: ValueError where one of them isn't at least 1, or chunks have no pipeline.
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
            raise ValueError("chunks are pieces of a pipeline's stages: set pipeline, or chunks=1")

    @property
    def gpus(self) -> int:
        return math.prod(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The mesh: ranks along AXES; neighbours along the last differ by 1, as in torch."""
        return tuple(getattr(self, axis) for axis in AXES)

    @property
    def sharers(self) -> int:
        """Ranks that hold a shard each of the same weights."""
        return self.shard * self.context

    def stride(self, axis: str) -> int:
        """By how much neighbours along an axis differ in rank."""
        return math.prod(self.sizes[AXES.index(axis) + 1 :])

    def group(self, axis: str, rank: int) -> list[int]:
        """The ranks that work with `rank` along an axis, in order; "gather": that share weights.

        Raises: ValueError for an axis or a rank that there isn't.
        """
        if axis not in (*AXES, "gather"):
            raise ValueError(f"no axis {axis!r}; there are {', '.join(AXES)} and gather")
        if not 0 <= rank < self.gpus:
            raise ValueError(f"ranks go from 0 to {self.gpus - 1}: there is no {rank}")
        stride = self.stride("context" if axis == "gather" else axis)
        size = self.sharers if axis == "gather" else getattr(self, axis)
        first = rank - rank // stride % size * stride
        return [first + place * stride for place in range(size)]

    def __str__(self) -> str:
        names = [(axis, size) for axis, size in zip(AXES, self.sizes, strict=True) if size > 1]
        return " × ".join(f"{axis} {size}" for axis, size in reversed(names)) or "one GPU"


@dataclass(frozen=True)
class Cluster:
    """Nodes of equal GPUs, as data/clusters.toml explains them."""

    title: str
    gpu: str
    memory_gb: float
    node: int
    inside: dict[str, float]
    between: dict[str, float]
    source: str = ""

    @property
    def specs(self) -> Specs:
        """Raises: ValueError for a GPU that data/gpus.toml hasn't got."""
        if (specs := gpu_specs(self.gpu)) is None:
            raise ValueError(explain_unknown(self.gpu))
        return specs

    def members(self, size: int, stride: int) -> int:
        """How many of a group's ranks stand in one node."""
        return max(1, min(size, self.node // stride))

    def link(self, size: int, stride: int) -> Link:
        """What a ring's step costs a group of `size` ranks that are `stride` apart.

        Over the network each rank of a node brings a port: a ring of all 8 passes a node's edge
        through 8 of them, a ring of one rank a node through one.
        """
        members = self.members(size, stride)
        if members == size:
            return Link(self.inside["step_us"] * 1e-6, 1e-9 / self.inside["gb_per_s"])
        rate = min(self.inside["gb_per_s"], members * self.between["gb_per_s"])
        return Link(self.between["step_us"] * 1e-6, 1e-9 / rate)

    def seconds(self, size: int, stride: int, n_bytes: float) -> float:
        """An all_gather that gives `n_bytes`, or a reduce_scatter that takes them: n−1 steps."""
        link = self.link(size, stride)
        return (size - 1) * (link.alpha + link.beta * n_bytes / size)


@cache
def clusters() -> dict[str, Cluster]:
    """The clusters by title. Raises: EvidenceError where the file isn't whole."""
    try:
        rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["cluster"]
        return {row["title"]: Cluster(**row) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"data/clusters.toml can't be read: {error}") from None


def cluster(title: str = "H100, 400 Gbit/s") -> Cluster:
    """The cluster of that title; ValueError, with the titles there are, for another."""
    if title not in clusters():
        raise ValueError(f"no cluster {title!r}; there are {', '.join(clusters())}")
    return clusters()[title]
