"""The roofline (Williams, Waterman and Patterson 2009): an operator's work, and its least time.

FLOPs: one for each addition, multiplication, division or root, so a multiply-add is two. Bytes are
*compulsory traffic*: each input read once, each output written once. An operator that stores
intermediate results moves more, one whose inputs are still in a cache moves less.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from course_utils.core.gpus import Specs

WAITS = {"memory": "memory", "math": "compute", "latency": "overhead"}
SIZES = {"FP32": 4, "TF32": 4, "FP16": 2, "BF16": 2, "FP8": 1}  # bytes of a number in memory
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


def matmul_work(m: int, k: int, n: int, size: int) -> Work:
    """(m, k) times (k, n), numbers of `size` bytes: m·n sums of k products."""
    return Work(2 * m * k * n, size * (m * k + k * n + m * n))


def layer_norm_work(rows: int, width: int, size: int) -> Work:
    """Mean 1, variance 3, then (x − mean) · 1/deviation · weight + bias 4: eight a number.

    Weight and bias, `width` numbers each, are read once for all rows.
    """
    return Work(LAYER_NORM_FLOPS * rows * width, size * (2 * rows * width + 2 * width))


@dataclass(frozen=True)
class Roof:
    """A machine's highest FLOP/s and bytes/s, and the seconds that any call costs."""

    flop_per_s: float
    bytes_per_s: float
    latency_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not (self.flop_per_s > 0 and self.bytes_per_s > 0 and self.latency_seconds >= 0):
            raise ValueError(f"a roof wants positive rates and a latency from 0, not {self}")

    @property
    def ridge(self) -> float:
        """The intensity, in FLOP/byte, above which arithmetic takes longer than memory."""
        return self.flop_per_s / self.bytes_per_s

    def attainable(self, intensity: float) -> float:
        """The highest FLOP/s at an intensity: the memory's slope, or the flat roof."""
        return min(self.flop_per_s, intensity * self.bytes_per_s)

    def parts(self, work: Work) -> dict[str, float]:
        """T_mem, T_math and latency of one call, in seconds."""
        return {
            "memory": work.n_bytes / self.bytes_per_s,
            "math": work.flops / self.flop_per_s,
            "latency": self.latency_seconds,
        }

    def waits_for(self, work: Work) -> str:
        """ "memory", "compute" or "overhead": the longest of the three parts."""
        parts = self.parts(work)
        return WAITS[max(parts, key=lambda name: parts[name])]


def gpu_roof(specs: Specs, dtype: str, latency_seconds: float = 0.0) -> Roof:
    """The roof of a GPU by its data sheet, for matmuls in `dtype` (one of SIZES).

    Raises: ValueError if the GPU has no unit for it, or for an unknown dtype.
    """
    if dtype not in SIZES:
        raise ValueError(f"no rate is kept for {dtype!r}; there are {', '.join(SIZES)}")
    rate = getattr(specs, dtype.lower())
    if rate is None:
        raise ValueError(f"{specs.title} has no unit for {dtype}; choose another dtype")
    return Roof(rate * 1e12, specs.memory_gb_per_s * 1e9, latency_seconds)


def layer(batch: int, n_in: int, n_out: int, size: int) -> Work:
    """A linear layer without bias: (batch, n_in) times (n_in, n_out)."""
    return matmul_work(batch, n_in, n_out, size)


def turning_batch(
    n_in: int, n_out: int, size: int, flop_per_s: float, bytes_per_s: float
) -> int | None:
    """The smallest batch at which a linear layer's T_math reaches its T_mem; None: it never does.

    2·B·i·o / F ≥ s·(B·i + i·o + B·o) / W, solved for B. Each sample of the batch brings s·(i + o)
    bytes: if those alone take as long as its FLOPs, no batch is large enough.
    """
    rate, width = Fraction(flop_per_s), Fraction(bytes_per_s)
    gain = Fraction(2 * n_in * n_out) / rate - Fraction(size * (n_in + n_out)) / width
    if gain <= 0:
        return None
    return math.ceil(Fraction(size * n_in * n_out) / width / gain)
