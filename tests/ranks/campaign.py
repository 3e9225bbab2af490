"""Random faults in a row in one real kernel: `python -m tests.ranks.campaign 1000 --seed 1`.

After each, the notebook must work, variables must be there if the message says so, and only its
helper and ranks may be left. `--slow` runs every correct but slow program instead, none of which
may be called wrong; `--deadlocks` all deadlocks, each of which must be told within 10 s. Prints a
table of how long each kind took, and ends with status 1 where something wasn't as it must be.
"""

import argparse
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.ranks import deadlocks, deadlocks_training, slow_processes, slow_programs, slow_training
from tests.ranks.fault_kinds import KINDS, RANKS, Fault
from tests.ranks.slow_programs import IMPORTS
from tests.ranks.test_session import works
from tests.support.kernels import Kernel

SLOW = {
    **slow_programs.COLLECTIVES, **slow_programs.MESSAGES, **slow_programs.STORES,
    **slow_processes.SYSTEM, **slow_processes.PYTHON,
    **slow_training.DATA_PARALLEL, **slow_training.SHARDED,
}  # fmt: skip
DEADLOCKS = {
    **deadlocks.COLLECTIVES, **deadlocks.GROUPS, **deadlocks.MESSAGES, **deadlocks.STORES,
    **deadlocks_training.TRAINING,
}  # fmt: skip
DEADLOCK = "a deadlock"
KEPT = "variables are still there"
TOLD_WITHIN_SECONDS = 10
Trial = tuple[str, Fault]  # its kind, and the cell
Table = dict[str, list[float]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--deadlocks", action="store_true")
    options = parser.parse_args()
    trials = (
        slow()
        if options.slow
        else stuck()
        if options.deadlocks
        else drawn(options.count, options.seed)
    )
    times, bad, left, gone = campaign(trials)
    print(f"{'kind':58}{'times':>6}{'median s':>10}{'longest s':>11}")
    for kind, found in sorted(times.items()):
        print(f"{kind:58}{len(found):6}{statistics.median(found):10.2f}{max(found):11.2f}")
    count = sum(map(len, times.values()))
    print(f"{count} cells, {len(bad)} of them badly reported or with leftovers;", end=" ")
    print(f"{left} processes left, the last gone after {gone:.2f} s")
    return bool(bad or left)


def campaign(trials: Iterator[Trial]) -> tuple[Table, list[str], int, float]:
    """Runs the trials: seconds by kind, what was wrong, and what the kernel left behind when."""
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
    gone = kernel.seconds_until_gone()
    return times, bad, len(kernel.processes()), gone


def drawn(count: int, seed: int, kinds: Sequence[str] = (*KINDS, DEADLOCK)) -> Iterator[Trial]:
    """Faults of these kinds."""
    draw = random.Random(seed)
    for _ in range(count):
        kind = draw.choice(kinds)
        if kind == DEADLOCK:
            yield kind, _deadlock(draw.choice([*DEADLOCKS]))
        else:
            code, options, says = KINDS[kind](draw)
            yield kind, (code, f"{RANKS} {options}", says)


def slow() -> Iterator[Trial]:
    """All correct but slow programs."""
    for name, (code, options) in SLOW.items():
        yield name, (IMPORTS + code, options, [])


def stuck() -> Iterator[Trial]:
    """All deadlocks."""
    return ((name, _deadlock(name)) for name in DEADLOCKS)


def _deadlock(name: str) -> Fault:
    code, options, says = DEADLOCKS[name]
    return IMPORTS + code, options, [says]


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
    if says and found.seconds > TOLD_WITHIN_SECONDS:
        return found.seconds, f"told after {found.seconds:.1f} s: {said[-900:]}"
    if KEPT in said and "[rank 0] 0\n" not in kernel.cell("kept").text:
        return found.seconds, f"variables are gone: {said[-600:]}"
    if not works(kernel, int(ranks)):
        return found.seconds, f"unusable, or {len(kernel.processes())} processes"
    return found.seconds, ""


if __name__ == "__main__":
    sys.exit(main())
