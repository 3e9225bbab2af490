"""What a transformer's block keeps for its backward pass, tensor by tensor."""

from typing import NamedTuple

from course_utils.chapters.trading_compute_for_memory.model_shapes import Shape


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
    """
    return [
        Kept("residual stream", shape.width, "residual"),
        Kept("the norm's statistics", 2 if shape.norm == "layer" else 1, "residual"),
        Kept("the norm's result", shape.width, "inner"),
        Kept("its casts for other products", (readers - 1) * shape.width, "cast"),
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
