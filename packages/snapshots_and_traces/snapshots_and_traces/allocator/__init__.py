"""The caching allocator: its rules, its settings, its variants."""

from snapshots_and_traces.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "rules": "CachingAllocator Driver MiB OutOfMemory",
        "settings": "Settings",
    },
)
