"""Measuring a function: warm-up, synchronisation, repetitions, and a look at who else was busy."""

import gc
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from course_utils.core.device_clock import DeviceClock
from course_utils.core.measurement import OTHERS_BOUND, Measurement, quartiles
from notebook_ranks.processes import local_ranks

PATIENCE = 4
LEAST_REPETITIONS = 5
REPETITION_SECONDS = 100e-6  # shorter calls are repeated inside one repetition
REPETITION_SECONDS_BESIDE_A_GPU = 2e-3  # by the host's clock: synchronising takes 10 µs or more
BLOCK_SECONDS = 0.05  # the guard's unit: the system counts processor time in ticks of 10 ms
WORKING = ("user", "nice", "system", "irq", "softirq", "steal")  # guests are in user already
_PID = os.getpid()


def seconds(fn: Callable[[], Any]) -> float:
    """Wall-clock seconds of one call of `fn`, of whatever it waits for and no more."""
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def measure_rounds(
    one_round: Callable[[], dict[str, float]], times: int = 9, unit: str = "seconds"
) -> dict[str, Measurement]:
    """Calls `one_round()` once to warm up, then `times` times; a Measurement for each of its keys.

    For things that are compared with each other: one round measures all of them, one after the
    other, so that a slow moment of the machine meets them alike. Rounds in which other programs
    were busy are dropped as in `measure`; where fewer than half of `times` were quiet, it goes on
    for up to PATIENCE times as many, and then keeps them all.
    """
    one_round()
    quiet: list[dict[str, float]] = []
    every: list[dict[str, float]] = []
    total = OthersClock()
    while len(every) < times or (2 * len(quiet) < times and len(every) < PATIENCE * times):
        watch = OthersClock()
        every.append(one_round())
        if watch.is_quiet():
            quiet.append(every[-1])
    kept, others = quiet if 2 * len(quiet) >= times else every, total.cores()
    return {
        key: Measurement(tuple(found[key] for found in kept), len(every), others, "host", unit)
        for key in every[0]
    }


def measure(
    fn: Callable[[], Any],
    *,
    clock: str = "auto",
    warmup: int = 2,
    budget_seconds: float = 0.3,
    precision: float = 0.01,
    flush_l2: bool = False,
) -> Measurement:
    """Times `fn()`: seconds per call, over repetitions.

    Repeats until the quartiles of the quiet repetitions lie within `precision` of the median
    (relative, tested after 20), or `budget_seconds` have gone by, and at least LEAST_REPETITIONS
    times. Repetitions made while other programs took more than OTHERS_BOUND processors are
    dropped, unless fewer than LEAST_REPETITIONS would remain: then all are kept.

    `clock` is "device" (what the GPU takes, with no launch in it: device_clock.py), "host" (the
    wall clock, every device synchronised before and after: what a program gets, launches and all),
    or "auto": device where CUDA is in use and `fn` gives the GPU something to do, else host.
    `flush_l2` empties the GPU's L2 cache before every call, outside the timed part; it needs the
    device's clock.

    The method is that of torch.utils.benchmark.Timer (host) and triton.testing.do_bench (device),
    with which the tests compare it; the guard is our own.
    """
    if clock not in ("auto", "host", "device"):
        raise ValueError(f"clock is 'auto', 'host' or 'device', not {clock!r}")
    for _ in range(max(1, warmup)):
        fn()
    synchronize()
    once, clock = _clock(fn, clock, flush_l2)
    return _repeat(once, clock, budget_seconds, precision)


def synchronize() -> None:
    """Waits for everything launched on every device in use; nothing to do on a CPU.

    Of several GPUs: the current one, and those on which torch holds memory. To wait for another
    would make a context on it, half a gigabyte, in each of as many ranks.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if _cuda_in_use():
        torch.cuda.synchronize()
        others = {*range(torch.cuda.device_count())} - {torch.cuda.current_device()}
        for index in filter(torch.cuda.memory_reserved, others):
            torch.cuda.synchronize(index)
    if torch.backends.mps.is_available():
        torch.mps.synchronize()


class OthersClock:
    """How many processors programs other than this process took since this clock was made.

    Processor time of this process, of its ranks and of children that have ended isn't theirs; that
    of other children, which still run, is.
    """

    def __init__(self) -> None:
        self.start, self.before = time.perf_counter(), others_seconds()

    def cores(self) -> float | None:
        """On average, never below 0 (1.0 is one whole core); None where the system doesn't tell."""
        now = others_seconds()
        if now is None or self.before is None:
            return None
        return max(0.0, now - self.before) / max(time.perf_counter() - self.start, 1e-9)

    def is_quiet(self) -> bool:
        """Whether others took little enough to believe what was measured; True if none can tell."""
        return (self.cores() or 0.0) <= OTHERS_BOUND


def others_seconds() -> float | None:
    """Processor seconds of all programs since the machine started, without this one's, its ranks'
    and those of its children that ended; None where the system doesn't tell."""
    import psutil

    try:
        spent = psutil.cpu_times()
    except (OSError, ValueError):
        return None
    everyone = sum(getattr(spent, kind, 0.0) for kind in WORKING)
    mine = time.process_time() + sum(os.times()[2:4])  # [2:4]: children that were waited for
    return everyone - mine - sum(map(_used_by, local_ranks))


def _used_by(pid: int) -> float:
    import psutil

    try:
        return sum(psutil.Process(pid).cpu_times()[:2])
    except psutil.Error:
        return 0.0


def _repeat(
    once: Callable[[], float], clock: str, budget_seconds: float, precision: float
) -> Measurement:
    quiet: list[float] = []
    every: list[float] = []
    total, busiest, end = OthersClock(), 0.0, time.perf_counter() + budget_seconds
    collecting = gc.isenabled()
    gc.disable()
    try:
        while time.perf_counter() < end or len(every) < LEAST_REPETITIONS:
            watch = OthersClock()
            block = _block(once, end - time.perf_counter())
            every += block
            busy = watch.cores() or 0.0
            if busy <= OTHERS_BOUND:
                quiet += block
            busiest = max(busiest, busy)
            if len(quiet) >= 20 and _spread(quiet) < precision:
                break
    finally:
        if collecting:
            gc.enable()
    if len(quiet) >= LEAST_REPETITIONS:
        return Measurement(tuple(quiet), len(every), total.cores(), clock)
    others = total.cores()
    if others is not None:  # of repetitions that were disturbed: however short that was
        others = max(others, busiest)
    return Measurement(tuple(every), len(every), others, clock)


def _block(once: Callable[[], float], left_seconds: float) -> list[float]:
    """Repetitions for as long as the guard needs to see something."""
    end = time.perf_counter() + min(BLOCK_SECONDS, max(left_seconds, 0))
    times = [once()]
    while time.perf_counter() < end:
        times.append(once())
    return times


def _clock(fn: Callable[[], Any], clock: str, flush_l2: bool) -> tuple[Callable[[], float], str]:
    """What takes one repetition, in seconds a call, and which clock that is."""
    if clock == "device" and not _cuda_in_use():
        raise ValueError("clock='device' needs work on a CUDA GPU, and fn() used none")
    if clock == "host" and flush_l2:
        raise ValueError("flush_l2 needs the device's clock, and this is the host's")
    if clock != "host" and _cuda_in_use():
        on_device = DeviceClock(fn, REPETITION_SECONDS, flush_l2)
        if clock == "device" or flush_l2 or on_device.sees_work:
            return on_device.once, "device"
    return _host_clock(fn), "host"


def _host_clock(fn: Callable[[], Any]) -> Callable[[], float]:
    """A repetition by the wall clock, of so many calls that waiting for the devices is small."""
    least, calls = REPETITION_SECONDS_BESIDE_A_GPU if _cuda_in_use() else REPETITION_SECONDS, 1
    while calls < 10_000 and _host_seconds(fn, calls) < least:
        calls *= 2
    return lambda: _host_seconds(fn, calls) / calls


def _host_seconds(fn: Callable[[], Any], calls: int) -> float:
    synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        fn()
    synchronize()
    return time.perf_counter() - start


def _cuda_in_use() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_initialized() and os.getpid() == _PID


def _spread(values: list[float]) -> float:
    q1, median, q3 = quartiles(values)
    return (q3 - q1) / median if median else 0.0
