"""A snapshot's events handed to an allocator again: as it was, and as it might have been."""

from snapshots_and_traces.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {"recorded": "blocks events is_repeated recorded_trace", "what_if": "program_of run"},
)
