"""Opens anybody's memory snapshot or profiler trace of torch: offline, and without trust.

`snapshot_page` and `trace_page` are the whole picture; `snapshots` and `traces` have the numbers,
`allocator` torch's caching allocator, to replay a snapshot on.
"""

from snapshots_and_traces.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "snapshot_viewer.page": "snapshot_page",
        "trace_viewer.page": "trace_page",
        "snapshots.lives": "history",
        "snapshots.loading": "load loads",
        "traces.reading": "read_trace",
        "traces.report": "summary",
    },
)
