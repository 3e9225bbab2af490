"""Many ranks in one notebook: processes of one group that run cells and functions together.

Nothing else of the course is imported here: it could be a package of its own.
"""

from importlib import import_module
from typing import Any

ROOMS = {
    "RankError": "engine.report",
    "RanksError": "engine.report",
    "RanksInterrupted": "engine.report",
    "connect": "session",
    "pull": "session",
    "push": "session",
    "restart": "session",
    "run": "session",
    "run_cell": "session",
    "start": "session",
    "stop": "session",
    "warm_up": "session",
}


def __getattr__(name: str) -> Any:
    if name not in ROOMS:
        raise AttributeError(f"{__name__} has no {name!r}; it offers {', '.join(ROOMS)}")
    return getattr(import_module(f"{__name__}.{ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *ROOMS])
