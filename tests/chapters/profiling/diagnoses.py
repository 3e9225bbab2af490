"""Answers to the exercise "diagnose", right and wrong, each as a student might write it."""

import itertools

import numpy as np

from course_utils.chapters.profiling.diagnosis import is_in, lanes, seconds_in
from course_utils.chapters.profiling.made_runs import made_run, run_names
from course_utils.traces import measures
from course_utils.traces.idle import breakdown
from course_utils.traces.report import look_first

SHOWN = run_names(shown=True)
CAUSES = ("input-bound", "sync-bound", "launch-bound", "communication-bound")


def worked(trace):
    run = lanes(trace)
    lost = dict.fromkeys(CAUSES, 0.0)
    for begin, end in run.sending:
        hidden = seconds_in(run.computing, begin, end)
        lost["communication-bound"] += end - begin - hidden
    for (_, idle), (back, _) in itertools.pairwise(run.busy):
        if seconds_in(run.loading, idle, back) > (back - idle) / 2:
            lost["input-bound"] += back - idle
        elif is_in(run.waiting, idle):
            lost["sync-bound"] += back - idle
        else:
            lost["launch-bound"] += back - idle
    worst = max(lost, key=lost.get)
    return worst if lost[worst] > run.seconds / 5 else "healthy"


def by_the_librarys_breakdown(trace):
    parts = breakdown(trace, 0, trace.window(0))
    lost = [parts["data"], parts["synchronising"], parts["launching"], parts["communication"]]
    return CAUSES[int(np.argmax(lost))] if max(lost) > sum(parts.values()) / 4 else "healthy"


def by_its_report(trace):
    parts = breakdown(trace, 0, trace.window(0))
    said = look_first(parts, measures.top_kernels(trace, 0))
    words = {"input": "input-bound", "calls": "sync-bound", "launches": "launch-bound",
             "messages": "communication-bound"}  # fmt: skip
    return next((cause for word, cause in words.items() if f"the {word}" in said), "healthy")


def by_thousands_of_looks(trace):
    run = lanes(trace)

    def within(spans, times):
        return [any(begin <= time < end for begin, end in spans) for time in times]

    found = []
    times = np.linspace(run.busy[0][0], run.busy[-1][1], 2000, endpoint=False)
    for time, busy, computing in zip(times, within(run.busy, times), within(run.computing, times),
                                     strict=True):  # fmt: skip
        if computing:
            found.append("healthy")
        elif busy:
            found.append("communication-bound")
        else:
            idle = max(end for _, end in run.busy if end <= time)
            back = min(begin for begin, _ in run.busy if begin > time)
            loading = seconds_in(run.loading, idle, back) > (back - idle) / 2
            waiting = is_in(run.waiting, idle)
            found.append(CAUSES[0 if loading else 1 if waiting else 2])
    worst = max(CAUSES, key=found.count)
    return worst if found.count(worst) > 0.3 * len(found) else "healthy"


def says_healthy(trace):
    return "healthy"


def says_launch_bound(trace):
    return "launch-bound"


def by_what_is_there(trace):
    run = lanes(trace)
    if run.loading:
        return "input-bound"
    if run.sending:
        return "communication-bound"
    return "sync-bound" if len(run.waiting) > 5 else "launch-bound"


def by_how_busy_it_is_alone(trace):
    run = lanes(trace)
    return "healthy" if sum(e - b for b, e in run.busy) > 0.8 * run.seconds else "launch-bound"


def by_what_the_host_did_longest(trace):
    run = lanes(trace)
    took = [sum(end - begin for begin, end in one) for one in
            (run.loading, run.waiting, [], run.sending)]  # fmt: skip
    return CAUSES[int(np.argmax(took))] if max(took) > run.seconds / 5 else "healthy"


def counts_hidden_messages(trace):
    run = lanes(trace)
    if sum(end - begin for begin, end in run.sending) > run.seconds / 5:
        return "communication-bound"
    return worked(trace)


def waiting_is_what_covers_the_gap(trace):
    run = lanes(trace)
    lost = dict.fromkeys(CAUSES, 0.0)
    for begin, end in run.sending:
        lost["communication-bound"] += end - begin - seconds_in(run.computing, begin, end)
    for (_, idle), (busy, _) in itertools.pairwise(run.busy):
        loading, waiting = (seconds_in(one, idle, busy) for one in (run.loading, run.waiting))
        lost["input-bound"] += loading
        lost["sync-bound"] += waiting if waiting > 0.9 * (busy - idle) else 0
        lost["launch-bound"] += busy - idle - loading - waiting
    worst = max(lost, key=lost.get)
    return worst if lost[worst] > run.seconds / 5 else "healthy"


def a_wait_comes_before_the_loader(trace):
    run = lanes(trace)
    lost = dict.fromkeys(CAUSES, 0.0)
    for begin, end in run.sending:
        lost["communication-bound"] += end - begin - seconds_in(run.computing, begin, end)
    for (_, idle), (busy, _) in itertools.pairwise(run.busy):
        cause = "launch-bound"
        if is_in(run.waiting, idle):
            cause = "sync-bound"
        elif seconds_in(run.loading, idle, busy) > (busy - idle) / 2:
            cause = "input-bound"
        lost[cause] += busy - idle
    worst = max(lost, key=lost.get)
    return worst if lost[worst] > run.seconds / 5 else "healthy"


def counts_gaps_not_seconds(trace):
    run = lanes(trace)
    found = [
        CAUSES[0 if seconds_in(run.loading, end, begin) > (begin - end) / 2 else
               1 if is_in(run.waiting, end) else 2]
        for (_, end), (begin, _) in itertools.pairwise(run.busy)
    ]  # fmt: skip
    return max(CAUSES, key=found.count)


def never_healthy(trace):
    said = worked(trace)
    return "launch-bound" if said == "healthy" else said


def knows_how_many_events(trace):
    return by_the_nearest(lambda one: len(one.start), trace)


def knows_how_long_it_took(trace):
    return by_the_nearest(lambda one: one.end.max() - one.start.min(), trace)


def knows_its_longest_kernel_by_name(trace):
    def longest(one):
        return measures.top_kernels(one, 0)[0].name

    shown = {longest(made_run(name)): made_run(name).about["cause"] for name in SHOWN}
    return shown.get(longest(trace), "healthy")


def by_the_nearest(number, trace):
    nearest = min(SHOWN, key=lambda name: abs(number(made_run(name)) - number(trace)))
    return made_run(nearest).about["cause"]


def a_share(trace):
    begin, end = trace.window(0)
    return measures.busy(trace, 0, (begin, end)) / (end - begin)


def in_its_own_words(trace):
    return worked(trace).replace("-", " ")


def nothing(trace):
    worked(trace)


def raises(trace):
    return {"input-bound": 1}["healthy"]


def spoils_the_trace(trace):
    said = worked(trace)
    trace.start[:] = 0
    return said


def text_of_numpy(trace):
    return np.array([worked(trace)])[0]


RIGHT = [worked, by_the_librarys_breakdown, by_its_report, by_thousands_of_looks,
         spoils_the_trace, text_of_numpy]  # fmt: skip
WRONG = [
    says_healthy, says_launch_bound, by_what_is_there, by_how_busy_it_is_alone,
    by_what_the_host_did_longest, counts_hidden_messages, waiting_is_what_covers_the_gap,
    a_wait_comes_before_the_loader, counts_gaps_not_seconds, never_healthy,
    knows_how_many_events, knows_its_longest_kernel_by_name, knows_how_long_it_took, a_share,
    in_its_own_words, nothing,
]  # fmt: skip
