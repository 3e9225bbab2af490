"""What an operator has to do: its floating-point operations, and the bytes it can't avoid.

FLOPs: one for each addition, multiplication, division, comparison, root, exponential or erf, so a
multiply-add is two. Of products `torch.utils.flop_counter` counts the same; of the others it
counts nothing, and the formula's docstring says what is added up. Bytes are *compulsory traffic*:
each input read once, each output written once. An operator that stores results in between moves
more, one whose inputs are still in a cache moves less.
"""

from dataclasses import dataclass

GELU_FLOPS, SOFTMAX_FLOPS, LAYER_NORM_FLOPS, ADAM_FLOPS = 5, 5, 8, 13


@dataclass(frozen=True)
class Work:
    """FLOPs and compulsory bytes of one call."""

    flops: int
    n_bytes: int

    @property
    def intensity(self) -> float:
        """Arithmetic intensity, in FLOP/byte."""
        return self.flops / self.n_bytes


def product(m: int, k: int, n: int, size: int) -> Work:
    """(m, k) times (k, n), numbers of `size` bytes: m·n sums of k products."""
    return Work(2 * m * k * n, size * (m * k + k * n + m * n))


def addition(n: int, size: int) -> Work:
    """n numbers plus n numbers: two read, one written."""
    return Work(n, 3 * n * size)


def gelu(n: int, size: int) -> Work:
    """x/2 · (1 + erf(x/√2)): a division, an erf, an addition, two multiplications a number."""
    return Work(GELU_FLOPS * n, 2 * n * size)


def softmax(rows: int, width: int, size: int) -> Work:
    """A number takes part in a maximum, a subtraction, an exponential, a sum and a division."""
    return Work(SOFTMAX_FLOPS * rows * width, 2 * rows * width * size)


def layer_norm(rows: int, width: int, size: int) -> Work:
    """Mean 1, variance 3, then (x − mean) · 1/deviation · weight + bias 4: eight a number.

    Weight and bias, `width` numbers each, are read once for all rows.
    """
    return Work(LAYER_NORM_FLOPS * rows * width, size * (2 * rows * width + 2 * width))


def attention(batch: int, heads: int, length: int, width: int, size: int) -> Work:
    """Two products of (length, width, length) a head; q, k and v are read, the result is written.

    `width` is that of a head. The softmax between, 5/(4·width) of the FLOPs, isn't counted, as in
    flop_counter; nor are the scores counted as traffic, since a fused kernel never stores them.
    """
    sequences = batch * heads
    return Work(4 * sequences * length**2 * width, 4 * sequences * length * width * size)


def adam(n: int, size: int) -> Work:
    """A fused step on n parameters: reads p, g, m and v, writes p, m and v.

    m: 3, v: 4, √v / correction + ε: 3, p − rate · m / that: 3.
    """
    return Work(ADAM_FLOPS * n, 7 * n * size)


def copy(n: int, size: int) -> Work:
    """STREAM's copy, a = b: one read, one written, no FLOP."""
    return Work(0, 2 * n * size)


def triad(n: int, size: int) -> Work:
    """STREAM's triad, a = b + s·c: two read, one written, two FLOPs.

    STREAM doesn't count that a processor may first read the line it is about to overwrite
    (*write-allocate*): then 4/3 of these bytes travel, and 3/2 of those of the copy.
    """
    return Work(2 * n, 3 * n * size)
