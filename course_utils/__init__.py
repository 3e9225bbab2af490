"""The library under the course "Where the Time and the Memory Go".

The names that every chapter uses can be imported from here; each lives in a room of its own,
which is imported (and torch with it, where the room needs torch) at the first use.
"""

from importlib import import_module
from typing import Any

_ROOM_OF = {
    "start": "chapter",
    "device": "machine",
    "this_machine": "machine",
    "gpu_specs": "specs",
    "measure": "timing",
    "measure_rounds": "timing",
    "seconds": "timing",
    "synchronize": "timing",
    "record": "recording",
    "record_each": "recording",
    "recorded": "evidence",
    "published": "evidence",
    "claim": "claims",
    "refuses": "claims",
    "check": "exercises",
    "hint": "exercises",
    "solution": "exercises",
    "bar": "bars",
    "compare_bars": "plots",
    "compare_lines": "plots",
    "number_lines": "plots",
    "stacked_bytes": "byte_bars",
    "table": "tables",
    "Series": "labelled",
    "series": "labelled",
    "format_seconds": "measurement",
    "Gpu": "backends",
    "Stream": "backends",
    "hold": "backends",
    "Span": "timeline",
    "Spans": "timeline",
    "draw": "timeline",
}

__all__ = list(_ROOM_OF)


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"course_utils has no {name!r}; it offers {', '.join(_ROOM_OF)}")
    return getattr(import_module(f"course_utils.{_ROOM_OF[name]}"), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext course_utils`: makes `%%ranks` known."""
    import_module("course_utils.rank_engine.magic").register(shell)


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOM_OF])
