"""Right answers to chapter 03's exercises, in other ways than the worked solutions."""

import numpy as np

from tests.chapters.profiling import diagnoses


def tick_by_tick(kernels, begin, end):
    idle = sum(not any(a <= t < b for a, b in kernels) for t in range(begin, end))
    return idle / (end - begin)


def in_an_array(kernels, begin, end):
    busy = np.zeros(end - begin, bool)
    for a, b in kernels:
        busy[max(0, a - begin) : max(0, b - begin)] = True
    return 1 - busy.mean()


def by_gaps(kernels, begin, end):
    idle, reached = 0, begin
    for a, b in sorted(kernels):
        idle += max(0, min(a, end) - reached)
        reached = max(reached, min(b, end))
    return (idle + end - reached) / (end - begin)


def exposed_tick_by_tick(messages, computing):
    times = {t for a, b in messages for t in range(a, b)}
    return len(times - {t for a, b in computing for t in range(a, b)})


def by_edges(messages, computing):
    changes = [(t, 0, d) for a, b in messages for t, d in ((a, 1), (b, -1))]
    changes += [(t, 1, d) for a, b in computing for t, d in ((a, 1), (b, -1))]
    running, found, before = [0, 0], 0.0, 0
    for time, which, change in sorted(changes):
        if running[0] and not running[1]:
            found += time - before
        running[which] += change
        before = time
    return found


def step_by_step(run):
    tokens = run.batch * run.length
    forward = (2 * run.parameters + 4 * run.layers * run.width * run.length) * tokens
    could = run.step_seconds * run.gpus * run.peak
    passes = 4 if run.checkpointing else 3
    return [3 * forward / could, passes * forward / could]


RIGHT = {
    "profiling.idle_share": [tick_by_tick, in_an_array, by_gaps],
    "profiling.exposed_communication": [exposed_tick_by_tick, by_edges],
    "profiling.mfu": [step_by_step],
    "profiling.diagnose": diagnoses.RIGHT,
}
