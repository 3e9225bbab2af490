"""Profiler traces that anyone wrote: read without trust, and what they say of a run.

Why none of those that exist: HolisticTraceAnalysis 0.5 reads no trace without a GPU, Perfetto's
trace processor fetches a program when it is first used, and speedscope shows neither streams nor
what launched what. (HolisticTraceAnalysis's definitions, and the traces of its tests, are used.)
"""

from snapshots_and_traces.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "comparing": "compare",
        "cutting": "cut",
        "idle": "breakdown",
        "kernel_classes": "kernel_class seconds_by_class",
        "reading": "read_trace",
        "report": "summary",
        "trace": "Kind",
    },
)
