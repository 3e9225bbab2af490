"""Random faults in a row in one real kernel: `python -m tests.ranks.campaign 200 --seed 1`.

After each, the notebook must work and only its helper and ranks may be left. Prints a table of how
long each kind took to be reported; ends with status 1 where a fault wasn't.
"""

import argparse
import random
import statistics
import sys
from collections import defaultdict

from tests.ranks.test_faults import FAULTS, IMPORTS, INTERRUPTED
from tests.ranks.test_session import works
from tests.support.kernels import Kernel


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw, kernel = random.Random(options.seed), Kernel()
    times: dict[str, list[float]] = defaultdict(list)
    bad: list[str] = []
    kinds = [*FAULTS, *(f"interrupt: {name}" for name in INTERRUPTED)]
    try:
        for number in range(options.count):
            kind = draw.choice(kinds)
            seconds, problem = once(kernel, kind)
            times[kind].append(seconds)
            if problem:
                bad.append(f"{number}: {kind}: {problem}")
                print(bad[-1], flush=True)
    finally:
        kernel.close()
    left = kernel.seconds_until_gone()
    print(f"{'fault':45}{'times':>7}{'median s':>10}{'longest s':>11}")
    for kind, found in sorted(times.items()):
        print(f"{kind:45}{len(found):7}{statistics.median(found):10.2f}{max(found):11.2f}")
    print(f"{options.count} faults, {len(bad)} of them badly reported or with leftovers;", end=" ")
    print(f"{len(kernel.processes())} processes left, the last gone after {left:.2f} s")
    return bool(bad)


def once(kernel: Kernel, kind: str) -> tuple[float, str]:
    """One fault: the seconds until it was reported, and what was wrong with that."""
    name = kind.removeprefix("interrupt: ")
    if kind == name:
        code, says, options = FAULTS[name]
        found = kernel.cell(IMPORTS + code, f"4 {options}")
    else:
        code, kept = INTERRUPTED[name]
        says, start = ["Interrupted", kept], "print('started', flush=True)\n"
        kernel.cell("mine = rank", "4")
        found = kernel.cell(IMPORTS + start + code, interrupt_when="[rank 0] started")
    said = found.error + found.text
    missing = [words for words in says if words not in said]
    if missing:
        return found.seconds, f"no {missing[0]!r} in {said[-400:]!r}"
    if not works(kernel):
        return found.seconds, f"unusable, or {len(kernel.processes())} processes"
    return found.seconds, ""


if __name__ == "__main__":
    sys.exit(main())
