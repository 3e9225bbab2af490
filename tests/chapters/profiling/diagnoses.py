"""Answers to the exercise "diagnose", right and wrong, each as a student might write it."""

import numpy as np

from course_utils.chapters.profiling.diagnosis import is_in, lanes, made_run, run_names, seconds_in
from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.findings import findings
from snapshots_and_traces.traces.idle import breakdown
from tests.support.patches import by_name, changed

CAUSES = ("input-bound", "sync-bound", "launch-bound", "communication-bound")


def by_the_librarys_breakdown(trace):
    parts = breakdown(trace, 0, trace.window(0))
    lost = [parts["data"], parts["synchronising"], parts["launching"], parts["communication"]]
    return CAUSES[int(np.argmax(lost))] if max(lost) > sum(parts.values()) / 4 else "healthy"


def by_its_report(trace):
    names = ("data", "synchronising", "launching", "communication")
    return dict(zip(names, CAUSES, strict=True)).get(findings(trace, 0)[0].cause, "healthy")


def by_thousands_of_looks(trace):
    run, found = lanes(trace), []
    for time in np.linspace(run.busy[0][0], run.busy[-1][1], 400, endpoint=False):
        busy, computing = (
            any(begin <= time < end for begin, end in spans) for spans in (run.busy, run.computing)
        )
        if computing:
            found.append("healthy")
        elif busy:
            found.append("communication-bound")
        else:
            idle = max(end for _, end in run.busy if end <= time)
            back = min(begin for begin, _ in run.busy if begin > time)
            loading = seconds_in(run.loading, idle, back) > (back - idle) / 2
            found.append(CAUSES[0 if loading else 1 if is_in(run.waiting, idle) else 2])
    worst = max(CAUSES, key=found.count)
    return worst if found.count(worst) > 0.3 * len(found) else "healthy"


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
    spans = run.loading, run.waiting, [], run.sending
    took = [sum(end - begin for begin, end in one) for one in spans]
    return CAUSES[int(np.argmax(took))] if max(took) > run.seconds / 5 else "healthy"


def knows_how_long_it_took(trace):
    def seconds(one):
        return one.end.max() - one.start.min()

    shown = [made_run(name) for name in run_names(shown=True)]
    return min(shown, key=lambda one: abs(seconds(one) - seconds(trace))).about["cause"]


def knows_its_longest_kernel_by_name(trace):
    def longest(one):
        return measures.top_kernels(one, 0)[0].name

    shown = {longest(made_run(x)): made_run(x).about["cause"] for x in run_names(shown=True)}
    return shown.get(longest(trace), "healthy")


def a_share(trace):
    begin, end = trace.window(0)
    return measures.busy(trace, 0, (begin, end)) / (end - begin)


FIRST, RETURN = "run = chapter.lanes(trace)", "return worst if"
worked, raises, spoils_the_trace = changed(
    "profiling.diagnose",
    worked={},
    raises={FIRST: 'return {"input-bound": 1}["healthy"]'},
    spoils_the_trace={RETURN: f"trace.start[:] = 0\n    {RETURN}"},
)
RIGHT = [by_the_librarys_breakdown, by_its_report, by_thousands_of_looks, spoils_the_trace]
WRONG = [
    by_what_is_there,
    by_how_busy_it_is_alone,
    by_what_the_host_did_longest,
    knows_how_long_it_took,
    knows_its_longest_kernel_by_name,
    a_share,
    *changed(
        "profiling.diagnose",
        says_healthy={FIRST: 'return "healthy"'},
        says_launch_bound={FIRST: 'return "launch-bound"'},
        counts_hidden_messages={"sent - hidden": "sent"},
        waiting_is_what_covers_the_gap={
            "chapter.is_in(run.waiting, idle)": "chapter.seconds_in(run.waiting, idle, back) "
            "> 0.9 * (back - idle)"
        },
        a_wait_comes_before_the_loader={
            " if chapter.seconds_in(": " if not chapter.is_in(run.waiting, idle) and "
            "chapter.seconds_in("
        },
        counts_gaps_not_seconds={
            f'lost["{cause}"] += back - idle': f'lost["{cause}"] += run.seconds / len(run.busy)'
            for cause in CAUSES[:3]
        },
        in_its_own_words={RETURN: 'return worst.replace("-", " ") if'},
        nothing={RETURN: "worst if"},
    ),
]
__getattr__ = by_name({"profiling.diagnose": WRONG})
