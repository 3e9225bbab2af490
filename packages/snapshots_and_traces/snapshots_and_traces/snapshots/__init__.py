"""Memory snapshots: read without trust, rewound, and recorded without a GPU."""

from snapshots_and_traces.doors import door

ROOMS, __getattr__, __dir__ = door(__name__, {"lives": "history"})
