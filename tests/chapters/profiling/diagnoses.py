"""Answers to the exercise "diagnose", right and wrong, each as a student might write it."""

import numpy as np

from course_utils.chapters.profiling.diagnosis import lanes, made_run, run_names, seconds_in
from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.findings import findings
from snapshots_and_traces.traces.idle import breakdown
from tests.support.patches import by_name, changed

CAUSES = ("input-bound", "sync-bound", "host-bound", "communication-bound")


def by_the_librarys_breakdown(trace):
    device = trace.devices[0]
    parts = breakdown(trace, device, trace.window(device))
    host = parts["launching"] + parts["python"]
    lost = [parts["data"], parts["synchronising"], host, parts["communication"]]
    return CAUSES[int(np.argmax(lost))] if max(lost) > sum(parts.values()) / 6 else "healthy"


def by_its_report(trace):
    names = dict(zip(("data", "synchronising", "launching", "communication"), CAUSES, strict=True))
    names |= {"python": "host-bound"}
    found = [
        one for one in findings(trace, trace.devices[0]) if one.cause in names and one.share > 0.16
    ]
    return names[found[0].cause] if found else "healthy"


def asks_only_what_the_host_did_as_a_gap_began(trace):
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
            waited = any(begin <= idle <= end for begin, end in run.waiting)
            found.append(CAUSES[0 if loading else 1 if waited else 2])
    worst = max(CAUSES, key=found.count)
    return worst if found.count(worst) > 0.15 * len(found) else "healthy"


def by_what_is_there(trace):
    run = lanes(trace)
    if run.loading:
        return "input-bound"
    if run.sending:
        return "communication-bound"
    return "sync-bound" if len(run.waiting) > 5 else "host-bound"


def by_how_busy_it_is_alone(trace):
    run = lanes(trace)
    return "healthy" if sum(e - b for b, e in run.busy) > 0.8 * run.seconds else "host-bound"


def by_what_the_host_did_longest(trace):
    run = lanes(trace)
    spans = run.loading, run.waiting, [], run.sending
    took = [sum(end - begin for begin, end in one) for one in spans]
    return CAUSES[int(np.argmax(took))] if max(took) > run.seconds / 10 else "healthy"


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


FIRST = "run, idle = chapter.lanes(trace), idle_causes(trace)"
RETURN = "return worst if"
SENT = "length(run.sending + run.computing)\n        - length(run.computing)"
worked, raises, spoils_the_trace = changed(
    "profiling.diagnose",
    worked={},
    raises={FIRST: 'return {"input-bound": 1}["healthy"]'},
    spoils_the_trace={RETURN: f"trace.start[:] = 0\n    {RETURN}"},
)
RIGHT = [by_the_librarys_breakdown, by_its_report, spoils_the_trace]
WRONG = [
    asks_only_what_the_host_did_as_a_gap_began,
    by_what_is_there,
    by_how_busy_it_is_alone,
    by_what_the_host_did_longest,
    knows_how_long_it_took,
    knows_its_longest_kernel_by_name,
    a_share,
    *changed(
        "profiling.diagnose",
        says_healthy={FIRST: 'return "healthy"'},
        says_host_bound={FIRST: 'return "host-bound"'},
        counts_hidden_messages={SENT: "length(run.sending)"},
        forgets_messages={SENT: "0.0"},
        counts_what_is_nobodys_fault={'idle["host"]': 'idle["host"] + idle["other"]'},
        charges_waits_to_the_host={
            '"sync-bound": idle["synchronising"]': '"sync-bound": 0.0',
            'idle["host"]': 'idle["host"] + idle["synchronising"]',
        },
        always_finds_a_fault={' if lost[worst] > run.seconds / 10 else "healthy"': ""},
        in_its_own_words={RETURN: 'return worst.replace("-", " ") if'},
        nothing={RETURN: "worst if"},
    ),
]
__getattr__ = by_name({"profiling.diagnose": WRONG})
