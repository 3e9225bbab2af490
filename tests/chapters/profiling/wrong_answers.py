"""Wrong answers to chapter 03's exercises, each as a student might write it."""

from tests.chapters.profiling import diagnoses


def _length(spans):
    found, reached = 0, float("-inf")
    for begin, end in sorted(spans):
        found += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return found


def adds_the_kernels(kernels, begin, end):
    return 1 - sum(last - first for first, last in kernels) / (end - begin)


def forgets_the_edges(kernels, begin, end):
    return 1 - _length(kernels) / (end - begin)


def drops_what_crosses_an_edge(kernels, begin, end):
    inside = [(a, b) for a, b in kernels if begin <= a and b <= end]
    return 1 - _length(inside) / (end - begin)


def from_first_to_last(kernels, begin, end):
    cut = [(max(a, begin), min(b, end)) for a, b in kernels if a < end and b > begin]
    if not cut:
        return 1
    return 1 - _length(cut) / (max(b for _, b in cut) - min(a for a, _ in cut) or 1)


def says_busy(kernels, begin, end):
    cut = [(max(a, begin), min(b, end)) for a, b in kernels if a < end and b > begin]
    return _length(cut) / (end - begin)


def looks_at_the_last_end_only(kernels, begin, end):
    idle, reached = 0, begin
    for a, b in sorted(kernels):
        idle += max(0, min(a, end) - reached)
        reached = min(b, end)
    return (idle + max(0, end - reached)) / (end - begin)


def sorts_the_callers_list(kernels, begin, end):
    kernels.sort()
    cut = [(max(a, begin), min(b, end)) for a, b in kernels if a < end and b > begin]
    return 1 - _length(cut) / (end - begin)


def all_of_it(messages, computing):
    return _length(messages)


def the_difference(messages, computing):
    return _length(messages) - _length(computing)


def never_below_nothing(messages, computing):
    return max(0, _length(messages) - _length(computing))


def the_hidden_part(messages, computing):
    return _length(messages) + _length(computing) - _length(messages + computing)


def pair_by_pair(messages, computing):
    hidden = sum(max(0, min(b, d) - max(a, c)) for a, b in messages for c, d in computing)
    return _length(messages) - hidden


def adds_messages(messages, computing):
    return sum(b - a for a, b in messages) - the_hidden_part(messages, computing)


def _mfu(run, token, by):
    done = token * run.batch * run.length / by
    return done, done * (4 / 3 if run.checkpointing else 1)


def without_attention(run):
    return _mfu(run, 6 * run.parameters, run.step_seconds * run.gpus * run.peak)


def of_one_gpu(run):
    token = 6 * run.parameters + 12 * run.layers * run.width * run.length
    return _mfu(run, token, run.step_seconds * run.peak)


def texts_for_tokens(run):
    token = 6 * run.parameters + 12 * run.layers * run.width * run.length
    return _mfu(run, token, run.length * run.step_seconds * run.gpus * run.peak)


def forward_only(run):
    token = 2 * run.parameters + 4 * run.layers * run.width * run.length
    return _mfu(run, token, run.step_seconds * run.gpus * run.peak)


def always_recomputes(run):
    token = 6 * run.parameters + 12 * run.layers * run.width * run.length
    mfu, _ = _mfu(run, token, run.step_seconds * run.gpus * run.peak)
    return mfu, mfu * 4 / 3


def the_other_way_round(run):
    token = 6 * run.parameters + 12 * run.layers * run.width * run.length
    return _mfu(run, token, run.step_seconds * run.gpus * run.peak)[::-1]


def a_third_in_parameters_only(run):
    token = 6 * run.parameters + 12 * run.layers * run.width * run.length
    by = run.step_seconds * run.gpus * run.peak
    mfu, _ = _mfu(run, token, by)
    again = 2 * run.parameters if run.checkpointing else 0
    return mfu, _mfu(run, token + again, by)[0]


def in_percent(run):
    token = 6 * run.parameters + 12 * run.layers * run.width * run.length
    return tuple(100 * x for x in _mfu(run, token, run.step_seconds * run.gpus * run.peak))


WRONG = {
    "profiling.idle_share": [
        adds_the_kernels,
        forgets_the_edges,
        drops_what_crosses_an_edge,
        from_first_to_last,
        says_busy,
        looks_at_the_last_end_only,
        sorts_the_callers_list,
    ],
    "profiling.exposed_communication": [
        all_of_it,
        the_difference,
        never_below_nothing,
        the_hidden_part,
        pair_by_pair,
        adds_messages,
    ],
    "profiling.mfu": [
        without_attention,
        of_one_gpu,
        texts_for_tokens,
        forward_only,
        always_recomputes,
        the_other_way_round,
        a_third_in_parameters_only,
        in_percent,
    ],
    "profiling.diagnose": diagnoses.WRONG,
}
