"""The library under the course "Where the Time and the Memory Go".

The names that every chapter uses can be imported from here; each lives in a room of its own,
which is imported (and torch with it, where the room needs torch) at the first use.
"""

from importlib import import_module
from typing import Any

from course_utils.core.doors import door

ROOMS = {
    "start": "lesson.start",
    "device": "core.machine",
    "physical_cores": "core.machine",
    "this_machine": "core.machine",
    "gpu_specs": "core.gpus",
    "measure": "core.timing",
    "measure_rounds": "core.timing",
    "seconds": "core.timing",
    "synchronize": "core.timing",
    "record": "core.recording",
    "record_each": "core.recording",
    "recording_folder": "core.recording",
    "recorded": "core.evidence",
    "published": "core.evidence",
    "claim": "core.claims",
    "refuses": "core.claims",
    "check": "lesson.exercises",
    "hint": "lesson.exercises",
    "solution": "lesson.exercises",
    "bar": "core.running",
    "compare_bars": "figures.compare",
    "compare_lines": "figures.compare",
    "draw_bands": "figures.compare",
    "number_lines": "figures.compare",
    "stacked_bytes": "figures.byte_bars",
    "table": "figures.tables",
    "Series": "core.evidence",
    "series": "core.evidence",
    "format_seconds": "core.measurement",
    "Gpu": "chapters.async_execution.gpu_backend",
    "Stream": "chapters.async_execution.gpu_backend",
    "hold": "chapters.async_execution.gpu_backend",
    "Span": "figures.timeline",
    "Spans": "figures.timeline",
    "draw": "figures.timeline",
}

__all__ = list(ROOMS)

__getattr__, __dir__ = door(__name__, ROOMS)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext course_utils`: makes `%%ranks` known; what ranks compute counts as this page's."""
    import_module("course_utils.ranks.engine.magic").register(shell)
    crew = import_module("course_utils.ranks.engine.crew")
    import_module("course_utils.core.timing").adopt(crew.processes)
