"""The caching allocator: its rules, its settings, its variants."""

from course_utils.core.doors import door

ROOMS = {
    "CachingAllocator": "rules",
    "MiB": "rules",
    "Settings": "settings",
}

__getattr__, __dir__ = door(__name__, ROOMS)
