"""Many ranks in one notebook: processes of one group that run cells and functions together.

`%load_ext notebook_ranks` makes `%%ranks` known, and this module as `ranks`.
"""

from importlib import import_module
from typing import Any

SESSION = "connect restart start stop wait warm_up"
ORDERS = "pull push run run_cell"
ERRORS = "RankError RanksError RanksInterrupted"
MODULE_OF = dict.fromkeys(SESSION.split(), "session") | dict.fromkeys(ORDERS.split(), "orders")
MODULE_OF |= dict.fromkeys(ERRORS.split(), "watch.report")
MODULE_OF |= {"failures": "page.magic", "output": "page.printer"}


def __getattr__(name: str) -> Any:
    if name not in MODULE_OF:
        raise AttributeError(f"{__name__} has no {name!r}; it offers {', '.join(MODULE_OF)}")
    return getattr(import_module(f"{__name__}.{MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *MODULE_OF])


def load_ipython_extension(shell: Any) -> None:
    """Makes `%%ranks` known, and starts the helper that ranks are forked from."""
    import_module(f"{__name__}.page.magic").register(shell)
