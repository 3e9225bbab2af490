"""Timing a function: warm-up, synchronisation, repetitions, and a guard against busy programs."""

import gc
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from course_utils.core import running
from course_utils.core.measurement import OTHERS_BOUND, Measurement, quartiles
from notebook_ranks.processes import local_ranks

PATIENCE = 4
DISTURBED = ", with more rounds, since other programs disturbed some"
LEAST_REPETITIONS = 5
REPETITION_SECONDS = 100e-6  # shorter calls are repeated inside one repetition
REPETITION_SECONDS_BESIDE_A_GPU = 2e-3  # by the host's clock: synchronising takes 10 µs or more
BLOCK_SECONDS = 0.05  # the guard checks this often: the system counts CPU time in ticks of 10 ms
WORKING = ("user", "nice", "system", "irq", "softirq", "steal")  # `user` includes guests
_PID = os.getpid()


def seconds(fn: Callable[[], Any]) -> float:
    """Wall-clock seconds of one call of `fn`, without the work that it leaves in a GPU's queue."""
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def measure_rounds(
    one_round: Callable[[], dict[str, float]], times: int = 9, unit: str = "seconds"
) -> dict[str, Measurement]:
    """Calls `one_round()` once to warm up, then `times` times; returns a Measurement for each key.

    For alternatives that are compared with each other: each round measures all of them in turn, so
    that a slow moment of the machine affects them alike. Rounds in which other programs were busy
    are dropped as in `measure`. While fewer than half of `times` rounds were quiet, it continues,
    up to PATIENCE · `times` rounds, and then keeps all of them.
    """
    one_round()
    quiet: list[dict[str, float]] = []
    every: list[dict[str, float]] = []
    total = OthersClock()
    while len(every) < times or (2 * len(quiet) < times and len(every) < PATIENCE * times):
        enough = len(every) >= times
        running.step = f", round {len(every) + 1} of {times}" if not enough else DISTURBED
        watch = OthersClock()
        every.append(one_round())
        if watch.is_quiet():
            quiet.append(every[-1])
    running.step = ""
    kept, others = quiet if 2 * len(quiet) >= times else every, total.others
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
    """Times `fn()`: returns seconds per call, over repetitions.

    Repeats at least LEAST_REPETITIONS times, and until the quartiles of the quiet repetitions are
    within `precision` of the median (relative, checked after 20) or `budget_seconds` have passed.
    Repetitions during which other programs used more than OTHERS_BOUND CPU cores are dropped; if
    fewer than LEAST_REPETITIONS would remain, all are kept.

    `clock` is "device" (the GPU's time without launches: DeviceClock), "host" (wall time with
    every device synchronised before and after, launches included), or "auto": device if CUDA is
    in use and `fn` gives the GPU work, else host.
    `flush_l2` empties the GPU's L2 cache before every call, outside the timed part; it needs the
    device clock.

    The method is that of torch.utils.benchmark.Timer (host) and triton.testing.do_bench (device);
    the tests compare it with both. The guard is ours.
    Raises: ValueError for an unknown clock, or one that can't time `fn`.
    """
    if clock not in ("auto", "host", "device"):
        raise ValueError(f"clock is 'auto', 'host' or 'device', not {clock!r}")
    for _ in range(max(1, warmup)):
        fn()
    synchronize()
    once, clock = _clock(fn, clock, flush_l2)
    return _repeat(once, clock, budget_seconds, precision)


def synchronize() -> None:
    """Waits until every device in use has finished its work; returns at once without one.

    Of several GPUs, it waits for the current one and for those on which torch holds memory:
    synchronising another would create a CUDA context there, half a gigabyte for each rank.
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
    """Measures how many CPU cores other programs have used since this clock was made.

    This process, its ranks and its children that have ended don't count as others; children that
    are still running do.
    """

    def __init__(self) -> None:
        self.start, self.before = time.perf_counter(), others_seconds()

    @property
    def others(self) -> float | None:
        """Cores on average, at least 0 (1.0 is one whole core); None if it can't be measured."""
        now = others_seconds()
        if now is None or self.before is None:
            return None
        return max(0.0, now - self.before) / max(time.perf_counter() - self.start, 1e-9)

    def is_quiet(self) -> bool:
        """True if others used at most OTHERS_BOUND cores, or if that can't be measured."""
        return (self.others or 0.0) <= OTHERS_BOUND


def others_seconds() -> float | None:
    """CPU seconds of all programs since the machine started, without this process, its ranks and
    its children that have ended; None if they can't be measured."""
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
            busy = watch.others or 0.0
            if busy <= OTHERS_BOUND:
                quiet += block
            busiest = max(busiest, busy)
            if len(quiet) >= 20 and _spread(quiet) < precision:
                break
    finally:
        if collecting:
            gc.enable()
    if len(quiet) >= LEAST_REPETITIONS:
        return Measurement(tuple(quiet), len(every), total.others, clock)
    others = total.others
    if others is not None:  # a short disturbance counts, too: all repetitions are kept
        others = max(others, busiest)
    return Measurement(tuple(every), len(every), others, clock)


def _block(once: Callable[[], float], left_seconds: float) -> list[float]:
    """Repeats for BLOCK_SECONDS, so that the guard sees a few clock ticks."""
    end = time.perf_counter() + min(BLOCK_SECONDS, max(left_seconds, 0))
    times = [once()]
    while time.perf_counter() < end:
        times.append(once())
    return times


def _clock(fn: Callable[[], Any], clock: str, flush_l2: bool) -> tuple[Callable[[], float], str]:
    """The function that makes one repetition and returns seconds per call; the clock's name."""
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
    """Times by wall clock, with enough calls a repetition that synchronising is negligible."""
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


# ---- Timing by CUDA events, with all calls queued before the first one runs.
#
# On an idle GPU, the time between two events includes the gaps between kernel launches. So a spin
# kernel (`torch.cuda._sleep`) runs first, and all calls are queued while it runs.

SHORTEST_SPIN, LONGEST_SPIN = 100_000, 1_600_000  # GPU cycles: 50 µs and 0.8 ms at 2 GHz
MOST_CALLS = 256  # a queue holds about 1,000 launches, and a call may be several
EVENTS_ALONE = 10e-6  # seconds: longer than two events with nothing between them


class DeviceClock:
    """Device seconds per call of `fn`, on the current stream.

    A repetition is enough calls to take `least_seconds`. With `flush_l2` it is one call, after a
    read of twice the L2 cache's size, so that the call finds nothing in the cache and nothing that
    must be written back.
    If launching takes longer than the longest spin, or the call itself waits for the GPU, its time
    includes the gaps between launches, as in a real program.
    `sees_work` is False if the GPU had next to nothing to do, or if launches couldn't be hidden:
    then this clock can't decide whether the call works on the GPU or on the host.
    """

    def __init__(self, fn: Callable[[], Any], least_seconds: float, flush_l2: bool = False) -> None:
        self.fn, self.flush = fn, _l2_reader() if flush_l2 else None
        self.calls, self.spin, self.sees_work = 1, SHORTEST_SPIN, False
        while not self._settled(least_seconds):
            pass

    def once(self) -> float:
        """Makes one repetition; returns seconds per call."""
        return self._repetition()[0]

    def _settled(self, least_seconds: float) -> bool:
        """True if the number of calls and the spin are right; else changes one of them."""
        seconds, hidden = self._repetition()
        if self.spin and not hidden:
            return self._hide_more()
        self.sees_work = bool(self.spin) and seconds * self.calls > EVENTS_ALONE
        if self.flush or seconds * self.calls >= least_seconds or self.calls >= MOST_CALLS:
            return True
        self.calls *= 2
        return False

    def _hide_more(self) -> bool:
        if self.spin < LONGEST_SPIN:
            self.spin *= 2
            return False
        if self.calls > 1:
            self.calls //= 2
            return True
        self.spin = 0
        return False

    def _repetition(self) -> tuple[float, bool]:
        """Seconds per call, and whether the spin still ran when the last call was queued."""
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if self.flush:
            self.flush()
        if self.spin:
            torch.cuda._sleep(self.spin)
        start.record()
        for _ in range(self.calls):
            self.fn()
        end.record()
        hidden = not start.query()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / self.calls, hidden


def _l2_reader() -> Callable[[], Any]:
    import torch

    n_bytes = 2 * torch.cuda.get_device_properties().L2_cache_size
    return torch.zeros(n_bytes // 4, device="cuda").sum
