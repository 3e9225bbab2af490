"""Timing by CUDA events, with all calls queued before the first one runs.

On an idle GPU, the time between two events includes the gaps between kernel launches. So a spin
kernel (`torch.cuda._sleep`) runs first, and all calls are queued while it runs.
"""

from collections.abc import Callable
from typing import Any

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
