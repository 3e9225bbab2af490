"""Seconds of a training step on many GPUs, by one formula: computing, communication, the bubble.

A layer's weights are gathered while the layer before computes, and its gradients are reduced while
the next one computes: of computing and this communication the longer counts. What tensor and
context parallelism send comes on top. A pipeline adds its bubble. Left out: launches, norms and
activations (the efficiency stands for them), and the optimizer's step.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from course_utils.planner.plans import SHARDED, Plan, forward_flops
from course_utils.planner.shapes import Shape
from course_utils.planner.splits import Cluster, Split

GATHERED, REDUCED = 2, 4  # bytes of a weight in BF16, and of a gradient in FP32
CHECKPOINTING = ("none", "selective", "every second product", "every block")


@dataclass(frozen=True)
class Work:
    """A step of training: `sequences` of `context` tokens for each group that shares them.

    `checkpointing` is one of CHECKPOINTING. `float8` are the matmuls' inputs (attention and the
    output stay in BF16). `hides_tensor`: tensor parallelism's collectives run beside its matmuls
    (async TP), and the longer counts. `keeps_gathered`: weights are gathered once a step
    (`reshard_after_forward=False`); with a pipeline they always are. `compiled_loss` holds 16-bit
    logits and their gradient, no FP32 ones.
    Raises: ValueError for an unknown checkpointing, a written-out block, no sequences.
    """

    shape: Shape
    sequences: int
    context: int = 0
    checkpointing: str = "every block"
    float8: bool = False
    hides_tensor: bool = False
    keeps_gathered: bool = False
    compiled_loss: bool = False

    def __post_init__(self) -> None:
        if self.checkpointing not in CHECKPOINTING:
            known = ", ".join(CHECKPOINTING)
            raise ValueError(f"no checkpointing {self.checkpointing!r} here; there are {known}")
        if self.shape.written_out or self.shape.labels:
            raise ValueError(f"{self.shape.title} isn't planned here: choose a decoder")
        if self.sequences < 1 or self.context < 0:
            raise ValueError("a step has at least 1 sequence, of at least 1 token")

    @property
    def length(self) -> int:
        return self.context or self.shape.context

    def plan(self, split: Split) -> Plan:
        """A micro-batch as chapter 10 plans it. Raises: ValueError where sequences don't divide."""
        batch, rest = divmod(self.sequences, split.micro_batches)
        if rest or batch == 0:
            raise ValueError(
                f"{self.sequences} sequences don't divide into {split.micro_batches} micro-batches"
            )
        ranks, way = max(2, split.sharers), self.checkpointing
        return Plan(self.shape, batch, self.context, SHARDED, way, compiled=True, ranks=ranks)

    def tokens(self, split: Split) -> float:
        """Tokens of a micro-batch, over the ranks that share a sequence and its matrices."""
        return self.plan(split).tokens / (split.tensor * split.context)


class Sent(NamedTuple):
    """Collectives of one layer and micro-batch along an axis, and the bytes of each."""

    forward: int
    backward: int
    n_bytes: float
    axis: str
    size: int

    def seconds(self, split: Split, cluster: Cluster) -> tuple[float, float]:
        """Seconds of the forward and of the backward pass."""
        one = cluster.seconds(self.size, split.stride(self.axis), self.n_bytes)
        return self.forward * one, self.backward * one


@dataclass(frozen=True)
class Step:
    """A step's seconds by what takes them, tokens a second and GPU, and share of the peak (as
    torch counts FLOPs: attention's whole square, nothing that is recomputed).
    """

    parts: dict[str, float]
    tokens_per_s_gpu: float
    mfu: float

    @property
    def seconds(self) -> float:
        return sum(self.parts.values())


def stage_layers(shape: Shape, split: Split) -> int:
    """Layers of the fullest rank of a pipeline; the two ends count as a layer each, as in Llama 3.

    Raises: ValueError where there are more stages than layers, or heads that can't be shared.
    """
    heads, stages = shape.heads, split.pipeline * split.chunks
    if heads % split.tensor:
        raise ValueError(f"{heads} heads of {shape.title} can't be shared by {split.tensor} ranks")
    if stages > shape.layers + 2:
        raise ValueError(f"{shape.layers} layers can't fill {stages} stages: take fewer")
    ends = 2 if split.pipeline > 1 else 0
    return math.ceil((shape.layers + ends) / split.pipeline)


def layer_sent(work: Work, split: Split) -> dict[str, Sent]:
    """The collectives of one layer, by name. Replicas reduce_scatter and all_gather their sum.

    Tensor parallelism has two all_gathers and two reduce_scatters forward and as many backward,
    and there those of the forward pass that are recomputed: of a block all but the last.
    """
    again = {"none": 0, "every block": 3}.get(work.checkpointing, 2)
    tokens, shared = work.tokens(split), work.shape.block_parameters / split.tensor
    gathered = 2 * tokens * split.tensor * work.shape.width
    kv = 4 * work.shape.kv_width * tokens * split.context
    once = work.keeps_gathered or split.pipeline > 1
    sharers = "context", split.sharers
    return {
        "gather": Sent(1, 0 if once else 1, GATHERED * shared, *sharers),
        "reduce": Sent(0, 1, REDUCED * shared, *sharers),
        "replicate": Sent(0, 2, REDUCED * shared / split.sharers, "replicate", split.replicate),
        "tensor": Sent(4, 4 + again, gathered, "tensor", split.tensor),
        "context": Sent(1, 2 + (again == 3), kv, "context", split.context),
    }


def layer_flops(work: Work, split: Split) -> tuple[float, float]:
    """A layer's FLOPs a rank and micro-batch, forward and backward; attention's causal half.

    Those of float8 matmuls count half.
    """
    shape, tokens = work.shape, work.tokens(split)
    matmuls = [2 * out * into * tokens / (2 if work.float8 else 1) for out, into in shape.products]
    attention = 2 * work.length * shape.width * tokens
    again = {
        "none": 0.0,
        "selective": 0.0,
        "every second product": sum(matmuls[1:-1:2]),
        "every block": sum(matmuls[:-1]) + attention,
    }[work.checkpointing]
    return sum(matmuls) + attention, 2 * sum(matmuls) + 2.5 * attention + again


def step(work: Work, split: Split, cluster: Cluster, efficiency: float) -> Step:
    """The step of `work` on every rank of `split`, where computing reaches a share of the peak.

    Raises: ValueError where sizes don't divide, or there are more stages than layers.
    """
    shape, micro = work.shape, split.micro_batches
    rate, layers, tokens = cluster.peak * efficiency, stage_layers(shape, split), work.tokens(split)
    forward, backward = (flops / rate for flops in layer_flops(work, split))
    sent = {name: one.seconds(split, cluster) for name, one in layer_sent(work, split).items()}
    ahead, back = (sent["tensor"][way] + sent["context"][way] for way in (0, 1))
    if work.hides_tensor:
        ahead, back = max(0.0, ahead - forward), max(0.0, back - backward)
    fsdp = sent["gather"][0], sent["gather"][1] + sent["reduce"][1] + sent["replicate"][1]
    exposed = max(0.0, fsdp[0] - forward - ahead) + max(0.0, fsdp[1] - backward - back)
    head = 6 * shape.head * tokens / rate if split.pipeline == 1 else 0.0  # a stage has room
    computing, waiting = layers * (forward + backward) + head, layers * (ahead + back)
    once, port = 1 if split.pipeline > 1 else micro, cluster.bandwidth(2, split.stride("pipeline"))
    between = 4 * split.chunks * micro * tokens * shape.width / port  # on, and back
    parts = {
        "computing": micro * computing,
        "tensor and context": micro * waiting,
        "exposed FSDP": once * layers * exposed + _ends(shape, split, cluster),
        "bubble": (split.pipeline - 1) / split.chunks * (computing + waiting),
        "between stages": between if split.pipeline > 1 else 0.0,
    }
    plan = work.plan(split)
    tokens_per_s = micro * tokens / sum(parts.values()) / split.pipeline
    flops = 3 * forward_flops(plan) / plan.tokens
    return Step(parts, tokens_per_s, tokens_per_s * flops / cluster.peak)


def _ends(shape: Shape, split: Split, cluster: Cluster) -> float:
    """The embeddings: gathered before the first layer, reduced after the last; nothing hides it."""
    n, numbers, copies = split.sharers, shape.embeddings / split.tensor, split.stride("replicate")
    once = [cluster.seconds(n, split.stride("context"), k * numbers) for k in (GATHERED, REDUCED)]
    return sum(once) + 2 * cluster.seconds(split.replicate, copies, REDUCED * numbers / n)


# ---- Bytes that a rank holds at the peak of a step, by part.

PARTS = (
    "weights",
    "gradients",
    "optimizer states",
    "gathered weights",
    "unreduced gradients",
    "activations",
    "logits",
    "a layer's backward",
)


def held_bytes(work: Work, split: Split) -> dict[str, float]:
    """Bytes by PARTS on the fullest rank: FP32 weights, gradients and Adam's states, all sharded.

    Gathered is one layer and the next, or with a pipeline the whole stage, whose gradients aren't
    reduced before the last micro-batch. Activations: of a pipeline's first rank, where most
    micro-batches are in flight. The logits, or a layer's backward (what it recomputes, its whole
    gradients in BF16, and in FP32 to be reduced), whichever is larger: they exist at different
    times. Left out: what the allocator can't use (chapter 10).
    Raises: ValueError where sizes don't divide, or there are more stages than layers.
    """
    shape = work.shape
    layers = stage_layers(shape, split)
    table = shape.embeddings if split.pipeline == 1 else shape.vocabulary * shape.width
    stage = (layers * shape.block_parameters + table) / split.tensor
    two = (2 * shape.block_parameters + table) / split.tensor
    shards = stage / split.sharers
    whole = split.pipeline > 1 or work.keeps_gathered
    later = split.pipeline > 1 and split.micro_batches > 1
    tokens, plan = work.tokens(split), work.plan(split)
    kept, layer = (
        tokens * sum(plan.format.n_bytes(one) for one in some) for some in (plan.kept, plan.block)
    )
    each = 4 if work.compiled_loss else 12
    logits = each * tokens * shape.vocabulary if split.pipeline == 1 else 0.0
    again = max(0.0, layer - kept)
    if split.sharers > 1 and not later:
        again += (GATHERED + REDUCED) * shape.block_parameters / split.tensor
    return {
        "weights": 4 * shards,
        "gradients": 4 * shards,
        "optimizer states": 8 * shards,
        "gathered weights": GATHERED * (stage if whole else min(two, stage)),
        "unreduced gradients": REDUCED * stage if later and split.sharers > 1 else 0.0,
        "activations": kept * layers * in_flight(split),
        "logits": logits if logits > again else 0.0,
        "a layer's backward": again if again >= logits else 0.0,
    }


def in_flight(split: Split) -> float:
    """Micro-batches whose activations a pipeline's first rank keeps; 1 without a pipeline.

    1F1B: as many as stages. Interleaved, counted in chunks: 2(p − 1) + (chunks − 1)p + 1.
    """
    p, chunks = split.pipeline, split.chunks
    if p == 1:
        return 1
    begun = p if chunks == 1 else (2 * (p - 1) + (chunks - 1) * p + 1) / chunks
    return min(begun, split.micro_batches)
