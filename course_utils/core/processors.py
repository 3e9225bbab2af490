"""How busy the processors were, and with whom: the guard behind `measure`."""

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
_ours: set[int] = set()


def adopt(pids: set[int]) -> None:
    """Processes that work for this one from now on: its ranks. The set is read anew each time."""
    global _ours
    _ours = pids


class OthersClock:
    """Processor seconds that programs other than this process took since its creation.

    (busy time of all processors, from /proc/stat) − (user and system time of this process and of
    those that were adopted). Child processes that still run count as others. On a system without
    /proc/stat, `seconds` is None: nobody can know. Source of the fields: proc_stat(5).
    """

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._busy = busy_seconds()
        self._own = own_seconds()
        self.wall_seconds = 0.0

    def seconds(self) -> float | None:
        """What others took so far, never below 0; sets `wall_seconds` to the time gone by."""
        busy, own = busy_seconds(), own_seconds()
        self.wall_seconds = max(time.perf_counter() - self._wall, 1e-9)
        if busy is None or self._busy is None:
            return None
        return max(0.0, (busy - self._busy) - (own - self._own))


def own_seconds() -> float:
    """Processor seconds of this process, and of those it adopted that still run."""
    return time.process_time() + sum(map(_used_by, _ours))


def _used_by(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_seconds() -> float | None:
    """Seconds that all processors together spent working since the machine started.

    User, nice, system, irq, softirq and steal; idle and waiting for disks don't count, and guest
    time is inside user time already. None where there is no /proc/stat.
    """
    try:
        fields = STAT.read_text().split("\n", 1)[0].split()[1:]
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
