"""Memory snapshots: read without trust, rewound, and recorded without a GPU."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(__name__, {"lives": "history"})
