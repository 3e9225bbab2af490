"""Random faults in one real kernel: `python -m notebook_ranks.tests.campaign 1000 --seed 1`.

After each, the notebook must work, variables must be there if the message says so, and only its
helper and ranks may be left. `--slow` runs every correct but slow program instead, none of which
may be called wrong; `--deadlocks` all deadlocks. Prints a table of how long each kind took, and
ends with status 1 where something wasn't as it must be.
"""

import argparse
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator

from notebook_ranks.tests.fault_kinds import KINDS, RANKS, Fault
from notebook_ranks.tests.kernels import Kernel
from notebook_ranks.tests.programs import DEADLOCKS, IMPORTS, SLOW

KEPT = "variables are still there"
Trial = tuple[str, Fault]  # its kind, and the cell
Table = dict[str, list[float]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--deadlocks", action="store_true")
    options = parser.parse_args()
    if options.slow:
        trials = slow()
    else:
        trials = stuck() if options.deadlocks else drawn(options.count, options.seed)
    times, bad = campaign(trials)
    print(f"{'kind':58}{'times':>6}{'median s':>10}{'longest s':>11}")
    for kind, found in sorted(times.items()):
        print(f"{kind:58}{len(found):6}{statistics.median(found):10.2f}{max(found):11.2f}")
    print(f"{sum(map(len, times.values()))} cells, {len(bad)} of them badly reported")
    return bool(bad)


def campaign(trials: Iterator[Trial]) -> tuple[Table, list[str]]:
    """Runs the trials: seconds by kind, and what was wrong."""
    times: Table = defaultdict(list)
    bad: list[str] = []
    kernel = Kernel()
    kernel.cell("1", str(RANKS))  # no trial has to wait for the helper
    try:
        for number, (kind, fault) in enumerate(trials):
            seconds, problem = once(kernel, fault)
            times[kind].append(seconds)
            if problem:
                bad.append(f"{number}: {kind}: {problem}")
                print(bad[-1], flush=True)
    finally:
        kernel.close()
    kernel.seconds_until_gone()
    bad += [f"process {pid} is left" for pid in kernel.processes()]
    return times, bad


def drawn(count: int, seed: int) -> Iterator[Trial]:
    """Faults of all kinds."""
    draw = random.Random(seed)
    for _ in range(count):
        kind = draw.choice([*KINDS])
        code, options, says = KINDS[kind](draw)
        yield kind, (code, f"{RANKS} {options}", says)


def slow() -> Iterator[Trial]:
    """All correct but slow programs."""
    return ((name, (IMPORTS + code, options, [])) for name, (code, options) in SLOW.items())


def stuck() -> Iterator[Trial]:
    """All deadlocks."""
    for name, (code, options, says) in DEADLOCKS.items():
        yield name, (IMPORTS + code, options, [says])


def once(kernel: Kernel, fault: Fault) -> tuple[float, str]:
    """One cell: the seconds until it ended, and what was wrong with that."""
    code, options, says = fault
    ranks = options.split()[0]
    kernel.cell("kept = rank", ranks)
    found = kernel.cell(code, options)
    said = found.error + found.text
    if not says and found.error:
        return found.seconds, f"called wrong: {found.error[-600:]}"
    for words in says:
        if words not in said:
            return found.seconds, f"no {words!r} in {said[-600:]!r}"
    if KEPT in said and "[rank 0] 0\n" not in kernel.cell("kept").text:
        return found.seconds, f"variables are gone: {said[-600:]}"
    if not kernel.works(int(ranks)):
        return found.seconds, f"unusable, or {len(kernel.processes())} processes"
    return found.seconds, ""


if __name__ == "__main__":
    sys.exit(main())
