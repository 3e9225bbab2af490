"""The public names of a package, as the package of snapshots and traces makes its own."""

from snapshots_and_traces.public_names import public_names as public_names
