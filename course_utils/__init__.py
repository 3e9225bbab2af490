"""The library under the course "Where the Time and the Memory Go".

The names that every chapter uses can be imported from here; each is defined in a module
that is imported (and torch with it, where the module needs torch) when the name is first used.
"""

from importlib import import_module
from typing import Any

from course_utils.core.public_names import public_names

MODULE_OF, _fetch, __dir__ = public_names(
    __name__,
    {
        "lesson.start": "start",
        "core.machine": "device physical_cores this_machine",
        "core.gpus": "gpu_specs",
        "core.timing": "measure measure_rounds seconds synchronize",
        "core.recording": "record record_each recording_folder",
        "core.evidence": "recorded published Series series",
        "core.claims": "claim follows refuses",
        "lesson.predictions": "predict answer",
        "lesson.exercises": "check hint solution",
        "core.running": "bar quiet_import",
        "figures.compare": "compare_bars compare_lines number_lines",
        "figures.byte_bars": "stacked_bytes",
        "figures.style": "FORMAT_COLOURS",
        "figures.tables": "table",
        "core.measurement": "format_seconds",
        "chapters.async_execution.side_by_side": "Gpu Stream",
        "figures.timeline": "Span Spans draw",
    },
)

__all__ = [*MODULE_OF, "ranks"]


def __getattr__(name: str) -> Any:
    return import_module("notebook_ranks") if name == "ranks" else _fetch(name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext course_utils`: makes `%%ranks` and `%diagnose` known."""
    import_module("notebook_ranks.page.magic").register(shell)
    import_module("training_diagnosis").load_ipython_extension(shell)
