"""Memory snapshots: read without trust, rewound, and recorded without a GPU."""

from snapshots_and_traces.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(__name__, {"lives": "history"})
