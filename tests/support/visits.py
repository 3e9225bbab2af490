"""A chapter's visit with one experiment."""

from course_utils.cli.recording_plan import Experiment, Visit
from course_utils.core.files import chapters


def visit(name, worth, seconds, reason="missing"):
    (path,) = (p for p in chapters() if p.stem.startswith(name))
    return Visit(path, 10, (Experiment("x", worth, seconds, reason),))
