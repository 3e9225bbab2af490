"""Counts the pages of memory that a call is the first to touch."""

from collections.abc import Callable
from contextlib import suppress


def new_pages(call: Callable[[], object]) -> int | None:
    """The page faults of `call()` that need no disk; None where the system doesn't count them.

    The system gives a program new memory page by page (usually of 4 KiB), each when it is touched
    first. Source: getrusage(2), ru_minflt; Windows has no such call.
    """
    with suppress(ImportError):
        import resource

        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        call()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return None
