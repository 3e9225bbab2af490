"""Measuring a function: warm-up, synchronisation, repetitions, and a look at who else was busy."""

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course_utils.processors import OthersClock

REPETITION_SECONDS = 100e-6  # shorter calls are repeated inside one repetition
BLOCK_SECONDS = 0.05  # the guard's unit: /proc/stat ticks every 10 ms
UNITS = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class Measurement:
    """Seconds per call of every kept repetition, and what the guard saw.

    `offered` counts all repetitions, `kept` those used; `others` is the processor time that other
    programs took, in processors (1.0 is one whole core), None where the system doesn't tell.
    """

    seconds: tuple[float, ...]
    offered: int
    others: float | None
    clock: str

    @property
    def kept(self) -> int:
        return len(self.seconds)

    @property
    def n(self) -> int:
        return len(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def q1(self) -> float:
        return _quartiles(self.seconds)[0]

    @property
    def q3(self) -> float:
        return _quartiles(self.seconds)[2]

    @property
    def guard(self) -> str:
        """What the guard knows, as a sentence part."""
        if self.others is None:
            return "this system doesn't tell how busy other programs were"
        return f"kept ≈ {self.kept} of ≈ {self.offered}, others took ≈ {self.others:.2f} cores"

    def __str__(self) -> str:
        spread = f"half of them from {format_seconds(self.q1)} to {format_seconds(self.q3)}"
        return f"{format_seconds(self.median)} ({spread}; {self.guard})"

    __repr__ = __str__

    def __truediv__(self, other: "Measurement") -> float:
        """The ratio of two medians; only ratios travel between machines."""
        return self.median / other.median


def format_seconds(seconds: float) -> str:
    """`≈ 12.3 ms`: three digits, in the unit that keeps them readable."""
    size, unit = next(((s, u) for s, u in UNITS if abs(seconds) >= s), UNITS[-1])
    return f"≈ {seconds / size:.3g} {unit}"


def measure(
    fn: Callable[[], Any],
    *,
    clock: str = "auto",
    warmup: int = 2,
    budget_seconds: float = 0.3,
    precision: float = 0.01,
    min_repetitions: int = 5,
    flush_l2: bool = False,
    others_bound: float = 0.3,
) -> Measurement:
    """Times `fn()`: seconds per call, over repetitions.

    Repeats until the quartiles of the quiet repetitions lie within `precision` of the median
    (relative, tested after 20), or `budget_seconds` have gone by, and at least `min_repetitions`
    times. Repetitions made while other programs took more than `others_bound` processors are
    dropped, unless fewer than `min_repetitions` would remain: then all are kept.

    `clock` is "device" (CUDA events on the current stream), "host" (the wall clock, every device
    synchronised before and after), or "auto": device where CUDA is in use, else host.
    `flush_l2` overwrites the GPU's L2 cache before every call, outside the timed part.

    The method is that of torch.utils.benchmark.Timer (host) and triton.testing.do_bench (device),
    with which the tests compare it; the guard is our own.
    """
    if clock not in ("auto", "host", "device"):
        raise ValueError(f"clock is 'auto', 'host' or 'device', not {clock!r}")
    for _ in range(max(1, warmup)):
        fn()
    synchronize()
    if clock == "auto":
        clock = "device" if _cuda_in_use() else "host"
    elif clock == "device" and not _cuda_in_use():
        raise ValueError("clock='device' needs work on a CUDA GPU, and fn() used none")
    once = _host_once if clock == "host" else _device_once
    flush = _l2_flusher() if flush_l2 and clock == "device" else None
    calls = 1 if flush else _calls_per_repetition(fn, once)
    return _repeat(
        lambda: once(fn, calls, flush),
        (clock, budget_seconds, precision, min_repetitions, others_bound),
    )


def synchronize() -> None:
    """Waits for everything launched on every device in use; nothing to do on a CPU."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if _cuda_in_use():
        for index in range(torch.cuda.device_count()):
            torch.cuda.synchronize(index)
    if torch.backends.mps.is_available():
        torch.mps.synchronize()


def _repeat(once: Callable[[], float], how: tuple[str, float, float, int, float]) -> Measurement:
    clock, budget, precision, least, bound = how
    quiet: list[float] = []
    every: list[float] = []
    others_seconds, start = 0.0, time.perf_counter()
    knows = True
    collecting = gc.isenabled()
    gc.disable()
    try:
        while time.perf_counter() - start < budget or len(every) < least:
            watch = OthersClock()
            block = _block(once, start + budget - time.perf_counter())
            every += block
            taken = watch.seconds()
            knows = knows and taken is not None
            others_seconds += taken or 0.0
            if taken is None or taken / watch.wall_seconds <= bound:
                quiet += block
            if len(quiet) >= max(20, least) and _spread(quiet) < precision:
                break
    finally:
        if collecting:
            gc.enable()
    others = others_seconds / (time.perf_counter() - start) if knows else None
    return Measurement(tuple(quiet if len(quiet) >= least else every), len(every), others, clock)


def _block(once: Callable[[], float], left_seconds: float) -> list[float]:
    """Repetitions for as long as the guard needs to see something."""
    end = time.perf_counter() + min(BLOCK_SECONDS, max(left_seconds, 0))
    times = [once()]
    while time.perf_counter() < end:
        times.append(once())
    return times


def _host_once(fn: Callable[[], Any], calls: int, flush: Callable[[], Any] | None) -> float:
    synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        fn()
    synchronize()
    return (time.perf_counter() - start) / calls


def _device_once(fn: Callable[[], Any], calls: int, flush: Callable[[], Any] | None) -> float:
    import torch

    if flush:
        flush()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        fn()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / calls


def _calls_per_repetition(fn: Callable[[], Any], once: Callable[..., float]) -> int:
    calls = 1
    while calls < 10_000 and once(fn, calls, None) * calls < REPETITION_SECONDS:
        calls *= 2
    return calls


def _l2_flusher() -> Callable[[], Any]:
    import torch

    n_bytes = 2 * torch.cuda.get_device_properties().L2_cache_size
    return torch.empty(n_bytes, dtype=torch.uint8, device="cuda").zero_


def _cuda_in_use() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_initialized() and os.getpid() == _PID


def _quartiles(values: tuple[float, ...] | list[float]) -> list[float]:
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def _spread(values: list[float]) -> float:
    q1, median, q3 = _quartiles(values)
    return (q3 - q1) / median if median else 0.0


_PID = os.getpid()
