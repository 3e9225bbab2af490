"""What a step takes on many GPUs, by one formula: computing, and what messages can't hide in it.

Each layer's weights are gathered while the one before computes, and its gradients are summed while
the next computes: of computing and these messages the longer counts. Tensor and context
parallelism's messages stand in computing's way. A pipeline adds its bubble. Left out: kernels'
launches, norms and activations (the efficiency stands for them), the optimizer's step.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from course_utils.chapters.choosing_a_split.splits import Cluster, Split
from course_utils.planner.plans import SHARDED, Plan, forward_flops
from course_utils.planner.shapes import Shape

GATHERED, REDUCED = 2, 4  # bytes of a weight in BF16, and of a gradient in FP32
CHECKPOINTING = ("none", "every second product", "every block")


@dataclass(frozen=True)
class Work:
    """A step of training: `lines` of `context` tokens for each group that shares lines.

    `checkpointing` is one of CHECKPOINTING. `float8` are the products' inputs (attention and the
    output stay in BF16). `hides_tensor`: tensor parallelism's messages run beside its products
    (async TP), of which the longer counts. `keeps_gathered`: weights are gathered once a step
    (ZeRO-2's way with messages); with a pipeline they always are.
    Raises: ValueError for a checkpointing that there isn't, a written-out block, no lines.
    """

    shape: Shape
    lines: int
    context: int = 0
    checkpointing: str = "every block"
    float8: bool = False
    hides_tensor: bool = False
    keeps_gathered: bool = False

    def __post_init__(self) -> None:
        if self.checkpointing not in CHECKPOINTING:
            known = ", ".join(CHECKPOINTING)
            raise ValueError(f"no checkpointing {self.checkpointing!r} here; there are {known}")
        if self.shape.written_out or self.shape.labels:
            raise ValueError(f"{self.shape.title} isn't planned here: choose a decoder")
        if self.lines < 1 or self.context < 0:
            raise ValueError("a step has at least 1 line, of at least 1 token")

    @property
    def line(self) -> int:
        return self.context or self.shape.context

    def plan(self, split: Split) -> Plan:
        """A micro-batch as chapter 10 plans it. Raises: ValueError where lines don't divide."""
        lines, rest = divmod(self.lines, split.micro_batches)
        if rest or lines == 0:
            raise ValueError(
                f"{self.lines} lines don't divide into {split.micro_batches} micro-batches"
            )
        return Plan(
            self.shape,
            lines,
            self.context,
            SHARDED,
            self.checkpointing,
            compiled=True,
            ranks=max(2, split.sharers),
        )


class Layer(NamedTuple):
    """Seconds of one layer and micro-batch: forward, backward, and what hides behind them."""

    forward: float
    backward: float
    gather: float
    reduce: float
    tensor: float  # of forward and backward, in messages that stand in the way


@dataclass(frozen=True)
class Step:
    """A step's seconds by what takes them; its tokens a second and GPU; its share of the peak.

    `mfu` counts FLOPs as torch does, attention's whole square, and nothing that is run again, over
    the peak in BF16.
    """

    parts: dict[str, float]
    tokens_per_s_gpu: float
    mfu: float
    layer: Layer

    @property
    def seconds(self) -> float:
        return sum(self.parts.values())


def stage_layers(shape: Shape, split: Split) -> int:
    """Layers of the fullest stage; the two ends count as a layer each, as torchtitan has it.

    Raises: ValueError where there are more stages than layers, or heads that can't be shared.
    """
    if shape.heads % split.tensor:
        raise ValueError(
            f"{shape.heads} heads of {shape.title} can't be shared by {split.tensor} ranks: "
            "take a tensor size that divides them"
        )
    if split.pipeline == 1:
        return shape.layers
    if split.pipeline * split.chunks > shape.layers:
        stages = split.pipeline * split.chunks
        raise ValueError(f"{shape.layers} layers can't fill {stages} stages: take fewer")
    return math.ceil((shape.layers + 2) / split.pipeline)


def step(work: Work, split: Split, cluster: Cluster, efficiency: float) -> Step:
    """The step of `work` on every rank of `split`, where computing reaches a share of the peak.

    Raises: ValueError where sizes don't divide, or there are more stages than layers.
    """
    shape, micro = work.shape, split.micro_batches
    layer = layer_seconds(work, split, cluster, efficiency)
    layers = stage_layers(shape, split)
    head = _head_seconds(work, split, cluster, efficiency)
    plain = layers * (layer.forward + layer.backward) + head
    regather = 0 if split.pipeline > 1 or work.keeps_gathered else layer.gather
    shown = layers * (
        max(layer.forward, layer.gather)
        + max(layer.backward, layer.reduce + regather)
        - layer.forward
        - layer.backward
    )
    gathers = 1 if split.pipeline > 1 else micro
    tensor = micro * layers * layer.tensor
    parts = {
        "computing": micro * plain - tensor,
        "tensor and context messages": tensor,
        "gathers and reduces that show": gathers * shown + _ends(shape, split, cluster),
        "bubble": (split.pipeline - 1) / split.chunks * plain,
        "between stages": _between_stages(work, split, cluster),
    }
    tokens = work.lines * work.line / (split.tensor * split.pipeline * split.context)
    rate = tokens / sum(parts.values())
    plan = work.plan(split)
    flops = 3 * forward_flops(plan) / plan.tokens
    return Step(parts, rate, rate * flops / peak(cluster), layer)


def layer_seconds(work: Work, split: Split, cluster: Cluster, efficiency: float) -> Layer:
    """One layer and one micro-batch. Attention is the causal half of its square."""
    shape, tokens = work.shape, tokens_a_rank(work, split)
    rate = peak(cluster) * efficiency
    products = [2 * out * into * tokens / rate for out, into in shape.products]
    if work.float8:
        products = [seconds / 2 for seconds in products]
    attention = 2 * work.line * shape.width * tokens / rate
    again = {
        "none": 0.0,
        "every second product": sum(products[1:-1:2]),
        "every block": sum(products[:-1]) + attention,
    }[work.checkpointing]
    forward = sum(products) + attention
    backward = 2 * sum(products) + 2.5 * attention + again
    ahead, back = _messages(work, split, cluster)
    hides = work.hides_tensor
    whole_forward = max(forward, ahead) if hides else forward + ahead
    whole_backward = max(backward, back) if hides else backward + back
    shared, stride = shape.block_parameters / split.tensor, split.stride("context")
    return Layer(
        whole_forward,
        whole_backward,
        cluster.seconds(split.sharers, stride, GATHERED * shared),
        cluster.seconds(split.sharers, stride, REDUCED * shared)
        + _all_reduce(split, cluster, REDUCED * shared / split.sharers),
        whole_forward + whole_backward - forward - backward,
    )


def tokens_a_rank(work: Work, split: Split) -> float:
    """Tokens of a micro-batch, over the ranks that share a line's length and its matrices."""
    return work.plan(split).tokens / (split.tensor * split.context)


def peak(cluster: Cluster) -> float:
    """FLOPs a second of a GPU in BF16 at most."""
    return float(cluster.specs.bf16) * 1e12


def tensor_messages(checkpointing: str) -> tuple[int, int]:
    """A layer's all_gathers and reduce_scatters along `tensor`, forward and backward.

    Two of each forward, two of each backward, and in the backward pass those that are run again:
    of a block all but its last reduce_scatter.
    """
    return 4, {"none": 4, "every second product": 6, "every block": 7}[checkpointing]


def _messages(work: Work, split: Split, cluster: Cluster) -> tuple[float, float]:
    """A layer's messages along tensor and context, forward and backward, in seconds."""
    tokens = tokens_a_rank(work, split) * split.tensor
    one = cluster.seconds(split.tensor, 1, 2 * tokens * work.shape.width)
    ahead, back = (count * one for count in tensor_messages(work.checkpointing))
    keys = 4 * work.shape.kv_width * tokens * split.context / split.tensor
    ring = cluster.seconds(split.context, split.stride("context"), keys)
    again = 1 if work.checkpointing == "every block" else 0
    return ahead + ring, back + (2 + again) * ring


def _all_reduce(split: Split, cluster: Cluster, n_bytes: float) -> float:
    """Of a shard's gradients over the replicas: a reduce_scatter and an all_gather."""
    return 2 * cluster.seconds(split.replicate, split.stride("replicate"), n_bytes)


def _head_seconds(work: Work, split: Split, cluster: Cluster, efficiency: float) -> float:
    """The output over the vocabulary, forward and backward; a pipeline's last stage has room."""
    if split.pipeline > 1:
        return 0.0
    flops = 6 * work.shape.head * tokens_a_rank(work, split)
    return flops / (peak(cluster) * efficiency)


def _ends(shape: Shape, split: Split, cluster: Cluster) -> float:
    """Gathered before the first layer and reduced after the last: nothing hides the embeddings."""
    n_bytes = (GATHERED + REDUCED) * shape.embeddings / split.tensor
    both = cluster.seconds(split.sharers, split.stride("context"), n_bytes)
    return both + _all_reduce(
        split, cluster, REDUCED * shape.embeddings / split.tensor / split.sharers
    )


def _between_stages(work: Work, split: Split, cluster: Cluster) -> float:
    """What a stage sends on and back, each micro-batch and chunk."""
    if split.pipeline == 1:
        return 0.0
    link = cluster.link(2, split.stride("pipeline"))
    one = link.alpha + link.beta * 2 * tokens_a_rank(work, split) * work.shape.width
    return 2 * split.chunks * split.micro_batches * one
