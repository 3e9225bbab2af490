"""Makes the public names of a package: the course's folders import the function from here."""

from snapshots_and_traces.public_names import public_names

__all__ = ["public_names"]
