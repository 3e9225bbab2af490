"""Right answers to chapter 03's exercises, in other ways than the worked solutions."""

from tests.chapters.profiling import diagnoses


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
    "profiling.exposed_communication": [exposed_tick_by_tick, by_edges],
    "profiling.mfu": [step_by_step],
    "profiling.diagnose": diagnoses.RIGHT,
}
