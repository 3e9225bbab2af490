"""Many ranks in one notebook: processes of one group that run cells and functions together.

Nothing else of the course is imported here: it could be a package of its own.
"""

from importlib import import_module
from typing import Any

SESSION = "connect restart start stop wait warm_up"
ORDERS = "pull push run run_cell"
ERRORS = "RankError RanksError RanksInterrupted"
ROOMS = dict.fromkeys(SESSION.split(), "session") | dict.fromkeys(ORDERS.split(), "orders")
ROOMS |= dict.fromkeys(ERRORS.split(), "watch.report")
ROOMS |= {"failures": "page.magic", "output": "page.printer"}


def __getattr__(name: str) -> Any:
    if name not in ROOMS:
        raise AttributeError(f"{__name__} has no {name!r}; it offers {', '.join(ROOMS)}")
    return getattr(import_module(f"{__name__}.{ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *ROOMS])
