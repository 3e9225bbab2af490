"""Checkers for chapter 18, "Your own run"."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from course_utils.chapters.your_own_run import strange_scripts
from course_utils.lesson.answers import as_list, compare
from course_utils.lesson.exercises import Wrong, exercise

STEPS = 400
CASES = 60
Kernels = Sequence[tuple[float, float]]

# ---- A step's kernels on a GPU, and waits between them.


def step_ms(kernels: Kernels, waits: Collection[int], steps: int = STEPS) -> float:
    """Milliseconds of a step in a long run: each kernel begins after its launch, and after the
    kernels before it; after those in `waits`, the next launch begins when the GPU is idle.
    """
    cpu = gpu = begun = 0.0
    for step in range(2 * steps):
        if step == steps:
            begun = max(cpu, gpu)
        for place, (host, device) in enumerate(kernels):
            cpu += host
            gpu = max(gpu, cpu) + device
            if place in waits:
                cpu = gpu
    return (max(cpu, gpu) - begun) / steps


@exercise(
    "own.gain",
    todo="write gain(kernels, waits) for a list of (host, device) pairs and a set of positions.",
    hints=(
        "Simulate as the page's run_steps does, with an inner loop over the kernels; the CPU "
        "moves on to the GPU's time only after the kernels in `waits`.",
        "Run some hundred steps with the waits and without them, and divide the two times.",
    ),
)
def check_gain(gain: Callable[[list[tuple[float, float]], set[int]], Any]) -> str:
    """Random steps of 1 to 6 kernels with one to all of them followed by a wait."""
    cases = [([(1.5, 10.0)], {0}), ([(1.0, 4.0), (4.0, 1.0)], {0}), ([(2.0, 2.0)] * 3, {2})]
    for _ in range(CASES):
        n = random.randint(1, 6)
        kernels = [(random.uniform(0.1, 5), random.uniform(0.1, 5)) for _ in range(n)]
        cases.append((kernels, set(random.sample(range(n), random.randint(1, n)))))
    for kernels, waits in cases:
        want = step_ms(kernels, waits) / step_ms(kernels, ())
        written = [(round(h, 2), round(d, 2)) for h, d in kernels]
        compare(gain(list(kernels), set(waits)), want, f"for {written}, waits {waits}", 0.02)
    return f"{len(cases)} steps of 1 to 6 kernels, to 2%"


# ---- Reports: what is the cause?

SHARE, GROWTH = 0.2, 512 * 1024  # of a step; bytes a step
PARTS_AT_20 = {"waiting for data": 2.0, "checkpoints": 0.0, "forward": 3.0, "backward": 3.0,
               "optimizer": 1.0, "everything else": 1.0}  # fmt: skip


def cause_of(parts: Mapping[str, float], growth: float) -> str:
    """The cause in a report: the larger of the loader's and the checkpoints' shares from 20% of a
    step on, else memory that grows by 512 KiB a step or more, else "healthy".
    """
    whole = sum(parts.values())
    waits = {"loader": parts["waiting for data"], "checkpoint": parts["checkpoints"]}
    worst = max(waits, key=lambda name: waits[name])
    if waits[worst] >= SHARE * whole:
        return worst
    return "memory" if growth >= GROWTH else "healthy"


def _drawn_parts() -> tuple[dict[str, float], float]:
    parts = {name: random.uniform(0.002, 0.02) for name in ("forward", "backward", "optimizer")}
    whole = sum(parts.values())
    for name in ("waiting for data", "checkpoints", "everything else"):
        parts[name] = whole * random.choice([0.0, 0.02, 0.05, 0.6, 2.0])  # none makes just 20%
    return parts, random.choice([0.0, 3e4, 2e5, 1e6, 3e7])


@exercise(
    "own.cause",
    todo="write cause(parts, growth): 'loader', 'checkpoint', 'memory' or 'healthy'.",
    hints=(
        "The shares are parts['waiting for data'] and parts['checkpoints'] over the sum of all "
        "parts.",
        "Time first: if the larger of the two is 20% of the step or more, it is the cause. Then "
        "memory. Then nothing is left.",
    ),
)
def check_cause(cause: Callable[[dict[str, float], float], Any]) -> str:
    """Four real reports, and parts drawn at random."""
    runs = strange_scripts.reports()
    cases = [(report.parts, report.growth_bytes, letter) for letter, report in runs.items()]
    cases += [(PARTS_AT_20, growth, "") for growth in (0.0, 1e9)]
    healthy = PARTS_AT_20 | {"waiting for data": 1.0}
    cases += [(healthy, growth, "") for growth in (GROWTH, GROWTH - 1.0, 524_000.0)]
    cases += [(*_drawn_parts(), "") for _ in range(CASES)]
    for parts, growth, letter in cases:
        want, said = cause_of(parts, growth), cause(dict(parts), growth)
        if said != want:
            shares = {name: f"{t / sum(parts.values()):.0%}" for name, t in parts.items() if t}
            where = f"report {letter}" if letter else "a report"
            raise Wrong(f"{where} with {shares}, growing by {growth:.3g} bytes a step: you say "
                        f"{said!r:.40}, wanted {want!r}")  # fmt: skip
    return f"{len(runs)} real reports and {len(cases) - len(runs)} others"


# ---- A rule.


def threads_wanted(threads: int, processes: int, cores: int, gpu: bool) -> int | None:
    """Threads that each process should have where it has too few; None where it hasn't."""
    wanted = cores // processes
    return wanted if not gpu and threads < wanted else None


@exercise(
    "own.rule",
    todo="write too_few(threads, processes, cores, gpu): a number of threads, or None.",
    hints=(
        "`torchrun` sets OMP_NUM_THREADS=1 for each of its processes: with 8 of them on 8 cores "
        "nothing is wrong.",
        "Each process may have cores // processes threads.",
    ),
)
def check_rule(too_few: Callable[[int, int, int, bool], Any]) -> str:
    """All machines of up to 16 cores with up to 20 processes."""
    cases = [
        (threads, processes, cores, gpu)
        for cores in (1, 2, 3, 4, 6, 8, 12, 16)
        for processes in (1, 2, 3, 4, 7, 8, 20)
        for threads in (1, 2, 3, 4, 8, 16, 17)
        for gpu in (False, True)
    ]
    for case in cases:
        threads, processes, cores, gpu = case
        where = f"for {threads} threads, {processes} processes, {cores} cores, gpu={gpu}"
        compare(too_few(*case), threads_wanted(*case), where)
    return f"{len(cases)} machines and numbers of processes"


# ---- A script that the reader hasn't seen.


@exercise(
    "own.faults",
    todo='run chapter.hand_out("reader.py"), and return "reader.py" and a list of line numbers.',
    hints=(
        "Diagnose it: `!python -m course_utils diagnose reader.py`. What it doesn't find, you may "
        "see: what is kept in a list, what is computed and never used?",
        "A fault is the line that you would change. One line of each fault is enough.",
    ),
)
def check_faults(my_faults: Callable[[], tuple[str, Sequence[int]]]) -> str:
    """The lines of one script that `hand_out` wrote: one of each fault at least, and no other."""
    answer = my_faults()
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], str):
        raise Wrong('return a file and its lines, such as "reader.py", [12, 30]')
    path, lines = answer[0], as_list(answer[1], "a list of line numbers")
    try:
        places = strange_scripts.handed_out(path)
    except (OSError, ValueError) as error:
        raise Wrong(f"{error}; hand_out({path!r}) writes one") from None
    known = set[int]().union(*places.values())
    if wrong := [line for line in lines if line not in known]:
        raise Wrong(f"line {wrong[0]} is none of the faults: the script needs it as it is")
    if missed := [name for name, at in places.items() if not at & set(lines)]:
        found = len(places) - len(missed)
        raise Wrong(f"{found} of {len(places)} faults: there is another one")
    return f"both faults: {' and '.join(places)}"
