"""What an operator has to do: its floating-point operations, and the bytes it can't avoid.

FLOPs: one for each addition, multiplication, division or root, so a multiply-add is two. Bytes are
*compulsory traffic*: each input read once, each output written once. An operator that stores
results in between moves more, one whose inputs are still in a cache moves less. The chapter counts
more operators, and holds its counts against torch.
"""

from dataclasses import dataclass

LAYER_NORM_FLOPS = 8


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


def layer_norm(rows: int, width: int, size: int) -> Work:
    """Mean 1, variance 3, then (x − mean) · 1/deviation · weight + bias 4: eight a number.

    Weight and bias, `width` numbers each, are read once for all rows.
    """
    return Work(LAYER_NORM_FLOPS * rows * width, size * (2 * rows * width + 2 * width))
