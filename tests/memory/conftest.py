"""An allocator's history, as the package's own tests have it."""

from snapshots_and_traces.tests.conftest import worked

__all__ = ["worked"]
