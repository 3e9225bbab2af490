"""The caching allocator: its rules, its settings, its variants."""

from snapshots_and_traces.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "rules": "CachingAllocator Driver MiB OutOfMemory",
        "settings": "Settings",
    },
)
