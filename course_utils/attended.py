"""Whether a person sits at this notebook; what only they should see or keep asks here."""

import os

UNATTENDED = "COURSE_UNATTENDED"  # set by what runs notebooks by itself, and by the tests


def is_attended() -> bool:
    """False in a run of `normalise`, `record` or `demo`, and below pytest."""
    return not (os.environ.get(UNATTENDED) or os.environ.get("PYTEST_VERSION"))
