"""Makes the public names of a package; here so that `core` is what the course imports."""

from snapshots_and_traces.public_names import public_names

__all__ = ["public_names"]
