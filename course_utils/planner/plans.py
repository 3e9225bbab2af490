"""A training step for the planner: its model, its batch, its trades and their FLOPs."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from course_utils.planner.shapes import Shape

# ---- What a transformer's block keeps for its backward pass, tensor by tensor.


class Kept(NamedTuple):
    """One tensor, by how many numbers it has for each token.

    `stored` says in what: the "residual" stream's format, the products' ("inner"), FP32 ("full"),
    a byte ("mask"), or where autocast casts it, as a copy for another product ("cast"). `of` names
    the operator that made it where a policy may keep it, "product" or "attention"; a result that
    the backward pass doesn't read isn't `needed`.
    """

    what: str
    numbers: int
    stored: str
    of: str = ""
    needed: bool = True


def kept_in_block(shape: Shape, context: int) -> list[Kept]:
    """A block's tensors in the order of its forward pass; the first is what comes in.

    With fused attention, as the course's GPT or a Llama have them; or written out as BERT and
    CS336's model are. `context` is the length of a line, in tokens.
    """
    if shape.written_out == "BERT":
        return _bert(shape, context)
    if shape.written_out == "CS336":
        return _cs336(shape, context)
    return [*_attention(shape), *_network(shape)]


def _attention(shape: Shape) -> list[Kept]:
    """Norm, products, attention. With rotated positions (no learned ones) q and k are kept turned.

    Attention keeps its result and a logarithm a head, from which it knows its softmax again.
    """
    w, kv = shape.width, shape.kv_width
    if shape.positions:
        products = [Kept("q, k, v", w + 2 * kv, "inner", "product")]
    else:
        products = [
            Kept("q", w, "inner", "product", needed=False),
            Kept("k", kv, "inner", "product", needed=False),
            Kept("v", kv, "inner", "product"),
            Kept("q, k turned", w + kv, "inner"),
        ]
    return [
        *_norm(shape, readers=1 if shape.positions else 3),
        *products,
        Kept("attention's result", w, "inner", "attention"),
        Kept("attention's logarithms", shape.heads, "full", "attention"),
        Kept("out", w, "inner", "product", needed=False),
    ]


def _network(shape: Shape) -> list[Kept]:
    h = shape.hidden
    if shape.gated:
        inside = [
            Kept("gate", h, "inner", "product"),
            Kept("SiLU's result", h, "inner"),
            Kept("up", h, "inner", "product"),
            Kept("gate × up", h, "inner"),
        ]
    else:
        inside = [Kept("up", h, "inner", "product"), Kept("GELU's result", h, "inner")]
    before = _norm(shape, readers=2 if shape.gated else 1)
    return [*before, *inside, Kept("down", shape.width, "inner", "product", needed=False)]


def _norm(shape: Shape, readers: int) -> list[Kept]:
    """The residual stream that a norm reads, its statistics, and what it gives the products.

    Autocast remembers its casts of weights alone: each of the `readers` casts, and keeps, its own.
    Hugging Face's RMSNorm is Python: it keeps the stream in FP32 and the normalised stream, too.
    """
    w = shape.width
    result = [
        Kept("the norm's result", w, "inner"),
        Kept("its casts for other products", (readers - 1) * w, "cast"),
    ]
    if shape.norm == "rms in Python":
        return [
            Kept("residual stream", w, "residual", needed=False),
            Kept("the stream in FP32", w, "full"),
            Kept("the norm's statistics", 1, "full"),
            Kept("normalised", w, "residual"),
            *result,
        ]
    statistics = 2 if shape.norm == "layer" else 1
    return [
        Kept("residual stream", w, "residual"),
        Kept("the norm's statistics", statistics, "residual"),
        *result,
    ]


def _bert(shape: Shape, context: int) -> list[Kept]:
    """Norms after the sums, scores and dropout written out: workloads/bert.py."""
    w, scores = shape.width, shape.heads * context
    return [
        Kept("residual stream", w, "residual"),
        Kept("q, k, v", 3 * w, "inner", "product"),
        Kept("softmax's result", scores, "full"),
        Kept("a dropout's mask", scores, "mask"),
        Kept("softmax, some dropped", scores, "inner"),
        Kept("attention's result", w, "inner", "attention"),
        Kept("two dropouts' masks", 2 * w, "mask"),
        Kept("what the norms read", 2 * w, "residual"),
        Kept("the norms' statistics", 4, "residual"),
        Kept("the norm's result", w, "inner"),
        Kept("up", shape.hidden, "inner", "product"),
        Kept("GELU's result", shape.hidden, "inner"),
    ]


def _cs336(shape: Shape, context: int) -> list[Kept]:
    """RMSNorm, softmax and SwiGLU of separate operators, each of which keeps what it needs."""
    w, scores = shape.width, shape.heads * context
    return [
        Kept("what the norms read", 2 * w, "residual"),
        Kept("the norms' quotients", 2 * w, "residual"),
        Kept("the norms' results", 2 * w, "inner"),
        Kept("their casts for other products", 3 * w, "cast"),
        Kept("q, k turned, v", 3 * w, "inner", "product"),
        Kept("exponentials of the scores", scores, "full"),
        Kept("softmax's result", scores, "inner"),
        Kept("places of the largest scores", 2 * shape.heads, "full"),
        Kept("attention's result", w, "inner", "attention"),
        Kept("gate, sigmoid, SiLU, up, their product", 5 * shape.hidden, "inner"),
    ]


CHUNK = 1024  # tokens whose logits a chunked loss makes at once


class Format(NamedTuple):
    """Bytes of a number of the weights, the residual stream and what the products read and give.

    `loss_kept` and `loss_made` count, in FP32 logits, what the loss keeps for the backward pass
    and what its backward makes beside that. (Autocast's loss keeps BF16 log-probabilities and an
    FP32 copy.) `casts` is whether the weights are cast for the products.
    """

    weights: int
    residual: int
    inner: int
    loss_kept: float = 1
    loss_made: float = 2
    casts: bool = False

    def n_bytes(self, kept: Kept) -> int:
        """Bytes of a tensor for each token."""
        cast = self.inner if self.inner < self.residual else 0
        size = {"residual": self.residual, "inner": self.inner, "full": 4, "mask": 1, "cast": cast}
        return kept.numbers * size[kept.stored]


FORMATS = {
    "FP32": Format(4, 4, 4),
    "AMP BF16": Format(4, 4, 2, 1.5, 1, casts=True),
    "pure BF16": Format(2, 2, 2),
    "sharded, BF16": Format(4, 2, 2, casts=True),
}
SHARDED = "sharded, BF16"
CHECKPOINTING = ("none", "selective", "every second product", "sqrt", "every block")


class Update(NamedTuple):
    """An optimizer's bytes for each parameter: its states, and what its step makes beside them.

    `whole` is for those that it makes for all parameters at once (foreach), else for one tensor.
    """

    states: float
    made: float
    whole: bool = False


def update(optimizer: str, plan: "Plan") -> Update:
    """Sizes of an optimizer's states and temporaries, by the weights' format.

    Adam as torch's foreach makes it, or its fused kernel; 8 bits in blocks of 256, 4 in blocks of
    128, with a scale each (Dettmers et al. 2021; torchao.optim); Adafactor's sums of rows and
    columns (Shazeer & Stern 2018); Muon's momentum for blocks' matrices (Jordan 2024), of which
    torch's makes 9 bytes a number of one 4 times as high as wide, and Adam for the rest.
    """
    size, shape = FORMATS[plan.recipe].weights, plan.shape
    matrices = shape.layers * shape.block_matrices
    rest = 1 - matrices / shape.parameters
    muons = 9 * max(out * into for out, into in shape.products) / shape.parameters
    return {
        "SGD": Update(0, 0),
        "Adam": Update(2 * size, size, whole=True),
        "Adam, fused": Update(2 * size, 0),
        "Adam of torch 2.0": Update(2 * size, 2 * size, whole=True),
        "Adam written out": Update(2 * size, 5 * size),
        "Adam 8-bit": Update(2 * (1 + 4 / 256), 0),
        "Adam 4-bit": Update(2 * (0.5 + 4 / 128), 0),
        "Adafactor": Update(4 * _factors(shape) / shape.parameters, size),
        "Muon": Update(size * (1 + rest), max(muons, size * rest), whole=True),
    }[optimizer]


def _factors(shape: Shape) -> int:
    """Adafactor's numbers: rows and columns of every matrix, and all of every vector."""
    tables = [(shape.vocabulary, shape.width)] * (1 if shape.tied else 2)
    tables += [(shape.context, shape.width)] if shape.positions else []
    matrices = tables + shape.layers * shape.products
    vectors = shape.parameters - sum(rows * columns for rows, columns in matrices)
    return vectors + sum(rows + columns for rows, columns in matrices)


OPTIMIZERS = (
    "SGD", "Adam", "Adam, fused", "Adam of torch 2.0", "Adam written out", "Adam 8-bit",
    "Adam 4-bit", "Adafactor", "Muon",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """A training step, `batch` lines of `context` tokens (the shape's own where it is 0).

    `recipe` is one of FORMATS, `checkpointing` one of CHECKPOINTING, `optimizer` of OPTIMIZERS.
    `in_backward` updates each weight as soon as its gradient is there; `chunked_loss` makes the
    logits of CHUNK tokens at once, and again in the backward pass; `fused_loss` makes them once,
    with their gradients, in no more bytes than the former takes; `accumulates` has gradients of
    earlier micro-batches; `compiled` doesn't keep what no backward reads, and `compiled_loss` holds
    16-bit logits and their gradient, no FP32 ones. Weights, gradients and states are shared among
    `ranks`, in the recipe "sharded, BF16" alone.
    Raises: ValueError for a name that there isn't, and for what doesn't go together.
    """

    shape: Shape
    batch: int = 1
    context: int = 0
    recipe: str = "AMP BF16"
    checkpointing: str = "none"
    optimizer: str = "Adam"
    in_backward: bool = False
    chunked_loss: bool = False
    fused_loss: bool = False
    accumulates: bool = False
    compiled: bool = False
    compiled_loss: bool = False
    ranks: int = 1
    capability: tuple[int, int] = (9, 0)

    def __post_init__(self) -> None:
        for value, known in (
            (self.recipe, FORMATS),
            (self.checkpointing, CHECKPOINTING),
            (self.optimizer, OPTIMIZERS),
        ):
            if value not in known:
                raise ValueError(f"no {value!r}; there are {', '.join(known)}")
        if self.batch < 1 or self.context < 0 or self.ranks < 1:
            raise ValueError("batch and ranks are at least 1, and context isn't negative")
        if (self.ranks > 1) != (self.recipe == SHARDED):
            raise ValueError(f"several ranks and the recipe {SHARDED!r} belong together")
        if self.compiled_loss and (self.few_logits or self.recipe == "FP32"):
            raise ValueError("a compiled loss is for 16-bit logits, made at once")
        if self.chunked_loss and self.fused_loss:
            raise ValueError("a fused loss has its chunks already")
        if self.in_backward and self.accumulates:
            raise ValueError("an optimizer in the backward pass has no gradients to accumulate")
        if self.shape.written_out and self.checkpointing not in ("none", "every block"):
            raise ValueError(f"{self.shape.title}'s blocks can be checkpointed whole or not at all")

    @property
    def line(self) -> int:
        return self.context or self.shape.context

    @property
    def tokens(self) -> int:
        return self.batch * self.line

    @property
    def few_logits(self) -> bool:
        """Whether only a chunk's logits are there at once."""
        return self.chunked_loss or self.fused_loss

    @property
    def format(self) -> Format:
        form = FORMATS[self.recipe]
        return form._replace(loss_kept=0.5, loss_made=0.5) if self.compiled_loss else form

    @property
    def segment(self) -> int:
        """The number of blocks that are run again together."""
        return math.isqrt(self.shape.layers - 1) + 1 if self.checkpointing == "sqrt" else 1

    @property
    def block(self) -> list[Kept]:
        """The tensors that a block keeps while nothing is run again."""
        return [kept for kept in kept_in_block(self.shape, self.line) if kept.needed]

    @property
    def kept(self) -> list[Kept]:
        """The tensors that a segment keeps from the forward pass to the backward pass."""
        if self.checkpointing == "none":
            return self.block
        every = kept_in_block(self.shape, self.line)
        if self.checkpointing in ("sqrt", "every block"):
            return every[:1]
        step = 2 if self.checkpointing == "every second product" else 1
        products = [kept for kept in every if kept.of == "product"][::step]
        if self.compiled and not products[-1].needed:
            products = products[:-1]  # the block's last result, which nothing reads
        return [every[0], *products, *(kept for kept in every if kept.of == "attention")]


# ---- What running things again costs a step, in FLOPs.


def forward_flops(plan: Plan) -> int:
    """FLOPs of a forward pass's products and attention (the whole square, as torch counts)."""
    return plan.tokens * (plan.shape.layers * _block_flops(plan) + 2 * plan.shape.head)


def recomputed_flops(plan: Plan) -> int:
    """FLOPs that are spent again in the backward pass.

    A segment stops as soon as what was kept in it is there again, so its last product isn't run.
    """
    shape, loss = plan.shape, 2 * plan.shape.head if plan.chunked_loss else 0
    products = [2 * out * into for out, into in shape.products]
    segments = math.ceil(shape.layers / plan.segment)
    again = shape.layers * _block_flops(plan) - segments * products[-1]
    if plan.checkpointing in ("none", "selective"):
        again = 0
    elif plan.checkpointing == "every second product":
        again = shape.layers * sum(products[1:-1:2])
    return plan.tokens * (again + loss)


def relative_time(plan: Plan) -> float:
    """FLOPs of the step over those without recomputing: 1.3 is 30% more.

    FLOPs only: norms and activation functions that are run again, the links of a GPU to others
    and the optimizer's own time aren't in it. A backward pass takes two products for each of the
    forward's, and attention's five for two.
    """
    attention = plan.tokens * plan.shape.layers * 4 * plan.line * plan.shape.width
    return 1 + recomputed_flops(plan) / (3 * forward_flops(plan) + attention // 2)


def _block_flops(plan: Plan) -> int:
    """FLOPs of one block's forward pass for each token."""
    return 2 * plan.shape.block_matrices + 4 * plan.line * plan.shape.width
