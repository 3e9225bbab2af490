"""A square matmul in each format that a device multiplies in, ready to be timed."""

from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor

from course_utils.core.evidence import Series, published
from course_utils.core.gpus import gpu_specs

DTYPES = {
    "FP32": torch.float32,
    "TF32": torch.float32,
    "FP16": torch.float16,
    "BF16": torch.bfloat16,
    "FP8 E4M3": torch.float8_e4m3fn,
}
# The compute capability that brought the units; torch emulates BF16 before, and refuses FP8.
SINCE = {"TF32": (8, 0), "BF16": (8, 0), "FP8 E4M3": (8, 9)}
PRECISIONS = {"FP32": "ieee", "TF32": "tf32"}


def formats_of(device: torch.device | str) -> list[str]:
    """Lists the formats that a device multiplies in, in order of DTYPES.

    For a GPU, those that its hardware has units for, without those that torch emulates there. For
    a CPU: FP32, FP16 and BF16, with or without hardware for them.
    """
    if torch.device(device).type != "cuda":
        return ["FP32", "FP16", "BF16"]
    capability = torch.cuda.get_device_capability(device)
    return [name for name in DTYPES if capability >= SINCE.get(name, (0, 0))]


class Product:
    """A matmul that each call computes; `a` and `b` are its inputs before rounding (FP32).

    A `with` block sets the precision of FP32 matmuls once, for all calls in it: setting it at
    every call, as calls outside of a block do, takes longer than a small matmul on a GPU.
    """

    def __init__(
        self, a: Tensor, b: Tensor, call: Callable[[], Tensor], precision: str | None = None
    ) -> None:
        self.a, self.b = a, b
        self._call, self._precision = call, precision
        self._before: str | None = None

    def __call__(self) -> Tensor:
        if self._precision is None or self._before is not None:
            return self._call()
        with self:
            return self._call()

    def __enter__(self) -> Self:
        if self._precision is not None:
            switch = torch.backends.cuda.matmul
            self._before, switch.fp32_precision = switch.fp32_precision, self._precision
        return self

    def __exit__(self, *_error: object) -> None:
        if self._before is not None:
            torch.backends.cuda.matmul.fp32_precision = self._before
            self._before = None


def product(format_name: str, n: int, device: torch.device | str = "cpu") -> Product:
    """Makes two normal (n, n) matrices, rounded to that format, and a matmul of them.

    On a GPU, FP32 isn't computed as TF32, which drops 13 bits of each input. FP8 E4M3 has a BF16
    result, as in training (`torch._scaled_mm`, which costs less Python than `scaled_mm`; scales of
    1, n a multiple of 16); other formats have results of the same format.
    Raises: ValueError for another name, and for a format that this device has no units for.
    """
    if format_name not in DTYPES:
        raise ValueError(f"no format {format_name!r}; there are {', '.join(DTYPES)}")
    if format_name not in formats_of(device):
        since = ".".join(map(str, SINCE[format_name]))
        wanted = f"a CUDA GPU of capability {since} or more"
        raise ValueError(f"{format_name} products want {wanted}, which {device} isn't")
    a, b = torch.randn(2, n, n, device=device)
    if format_name == "FP8 E4M3":
        return Product(a, b, _fp8(a, b))
    left, right = (m.to(DTYPES[format_name]) for m in (a, b))
    on_gpu = torch.device(device).type == "cuda"
    return Product(a, b, lambda: left @ right, PRECISIONS.get(format_name) if on_gpu else None)


def published_rates(gpu: str = "H200") -> Series:
    """TFLOP/s of a GPU by format: its data sheet's dense peak, and the best published measurement.

    Raises: ValueError for a GPU whose data sheet isn't in data/gpus.toml.
    """
    specs = gpu_specs(gpu)
    if specs is None:
        raise ValueError(f"no data sheet of {gpu!r} in data/gpus.toml")
    best = published("matmul_rates")
    reached = {r["format"]: r["tflop_per_s"] for r in best.rows if r["gpu"] == specs.title}
    rates: dict[str, float] = {}
    for name in DTYPES:
        peak = getattr(specs, name.split()[0].lower())
        rates |= {f"{name}, data sheet": peak} if peak else {}
        rates |= {f"{name}, best found": reached[name]} if name in reached else {}
    origin = f"published: {specs.source}; {best.source}"
    return Series(rates, "published", origin)


def _fp8(a: Tensor, b: Tensor) -> Callable[[], Tensor]:
    """Returns a @ b in FP8: the left matrix by rows, the right by columns, as cuBLASLt needs."""
    left, right = a.to(torch.float8_e4m3fn), b.t().contiguous().to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=a.device)
    return lambda: torch._scaled_mm(left, right, one, one, out_dtype=torch.bfloat16)
