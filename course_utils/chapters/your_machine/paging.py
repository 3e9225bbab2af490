"""Tables in small pages or in huge ones, so that what it costs to find a page shows."""

import mmap
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

ROLLUP = Path("/proc/self/smaps_rollup")


def ones_in_pages(n_bytes: int, huge: bool = False) -> "torch.Tensor | None":
    """FP32 ones in pages of the usual size (4 KiB on most systems), or in huge ones (2 MiB).

    None where huge pages are wanted, and the system has none to offer or gives them to less than
    half of the table. Where it has none, the usual pages are whatever torch gets.
    Source: Linux's madvise(2), MADV_HUGEPAGE; Documentation/admin-guide/mm/transhuge.
    """
    import torch

    advice = getattr(mmap, "MADV_HUGEPAGE" if huge else "MADV_NOHUGEPAGE", None)
    if advice is None:
        return None if huge else torch.ones(n_bytes // 4)
    before = huge_bytes()
    memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel that was built without them
        memory.madvise(advice)
    table = torch.frombuffer(memory, dtype=torch.float32).fill_(1)
    return None if huge and huge_bytes() - before < n_bytes // 2 else table


def huge_bytes() -> int:
    """Bytes of this process that lie in huge pages; 0 where the system doesn't tell."""
    with suppress(OSError):
        if told := re.search(r"AnonHugePages:\s+(\d+) kB", ROLLUP.read_text(encoding="utf-8")):
            return 1024 * int(told[1])
    return 0
