"""A program by itself, for a Python without its lock: times a page's function on threads.

It reads JSON from its input: the function's `source` and `name`, how many `jobs`, and the numbers
of `threads`. It writes the seconds for each of these, the least of five, as JSON.
"""

import json
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def once(job: Callable[[int], Any], threads: int, jobs: int) -> float:
    """Seconds that `jobs` calls take on threads that are there already."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(job, range(threads)))
        start = time.perf_counter()
        list(pool.map(job, range(jobs)))
        return time.perf_counter() - start


if __name__ == "__main__":
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        sys.exit("this build has a lock")
    asked: dict[str, Any] = json.load(sys.stdin)
    names: dict[str, Any] = {}
    exec(textwrap.dedent(asked["source"]), names)
    job, jobs = names[asked["name"]], asked["jobs"]
    print(json.dumps([min(once(job, n, jobs) for _ in range(5)) for n in asked["threads"]]))
