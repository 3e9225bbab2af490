"""The ranks of this notebook: started, kept between its cells, connected to, and ended.

They and their variables stay until `restart`, `stop`, another number of ranks, or a fault that
breaks them.
"""

import atexit
import os
import sys

from notebook_ranks.engine.crew import Crew
from notebook_ranks.engine.starters import Forked, Launched, Spawned, Starter
from notebook_ranks.page import background, notebook
from notebook_ranks.watch.report import RanksError

START = "NOTEBOOK_RANKS_START"  # "fork" or "spawn"; the system's way where it isn't set
DISCONNECTED = (
    "No launcher is connected now: it isn't started again. Call ranks.connect(…) to start one, or "
    "use %%ranks 4 for ranks of this machine."
)


class _Session:
    """The state of this notebook: a starter, its ranks, and how they were asked for."""

    starter: Starter | None = None
    crew: Crew | None = None
    n: int | None = None
    device: str | None = None
    cells = 0
    limit_seconds: float | None = None
    done: list[str]  # the cells that these ranks have run, and below what was pushed to them
    given: set[str]
    ran = lost = 0  # the last cell that ranks were given, and that of the ranks before these


now = _Session()


def warm_up() -> None:
    """Starts the helper that imports torch, and returns at once; `%load_ext` calls it."""
    _starter()


def start(
    n: int | None = None, device: str | None = None, limit_seconds: float | None = None
) -> None:
    """Makes sure that `n` ranks are there: those that are, where they still run, or new ones.

    `limit_seconds` is how long cells and functions may run from now on. Without it they are stopped
    when nothing moves (no output, no processor time, no collective, no other line): for 30 s where
    all ranks wait for each other, for 10 minutes where one sleeps or waits for something else.
    `device` is "cpu" or "cuda"; without it, ranks have a GPU each where there are enough of them.
    Raises: RanksError where the ranks can't be started, ValueError for a number below 1.
    """
    if n is not None and n < 1:
        raise ValueError(f"at least 1 rank, not {n}")
    background.refuse()
    now.limit_seconds = limit_seconds or now.limit_seconds
    if _fits(n, device):
        return
    connected = isinstance(now.starter, Launched)
    known = now.n
    if connected and known and n not in (None, known):
        raise RanksError(f"The command starts {known} ranks, not {n}; connect with another one.")
    if (n or known) is None and not connected:
        raise RanksError("No ranks are running yet. Say how many: %%ranks 4, or ranks.start(4).")
    if not connected:
        notebook.need(device)
    starter = _starter()
    if now.crew:
        now.crew.dismiss()
        now.crew = None
    now.device, now.lost = device or now.device, now.ran
    try:
        now.crew = Crew(starter, n or known, now.device)
    except BaseException as error:
        if connected:
            stop()  # or each later cell would start the commands again
        if connected and isinstance(error, RanksError):
            raise RanksError(f"{error}\n{DISCONNECTED}") from None
        raise
    now.n, now.done, now.given = len(now.crew.lines), [], set()


def _fits(n: int | None, device: str | None) -> bool:
    """Whether the ranks that run are those that are asked for."""
    crew = now.crew
    if crew is None or crew.broken:
        return False
    if crew.lost:
        print("The ranks were gone. These are new ones, and their variables start afresh.")
        return False
    return n in (None, len(crew.lines)) and device in (None, now.device)


def _starter() -> Starter:
    """The starter of ranks, made if there is none yet; a helper that was killed is replaced."""
    if os.name == "nt":
        raise RanksError("Ranks need Linux or macOS. On Windows, run the course in WSL.")
    if isinstance(now.starter, Forked) and not now.starter.alive():
        _end_all()
    if now.starter is None:
        wanted = os.environ.get(START, "fork" if sys.platform == "linux" else "spawn")
        now.starter = Forked() if wanted == "fork" else Spawned()
    return now.starter


def connect(*commands: str, host: str = "127.0.0.1", device: str | None = None) -> None:
    """Uses the ranks that commands start from now on: torchrun, srun or mpirun.

    Give the command without a program: `connect("torchrun --nproc-per-node 2")`. Several commands
    are started side by side. `host` is this machine's address as other machines see it.
    A job may wait in its queue for as long as it takes; Ctrl-C cancels it.
    Raises: RanksError where not all of the ranks dial in.
    """
    stop()
    now.starter = Launched(commands, host)
    start(device=device)


def restart() -> None:
    """New ranks, as many as there were, with no variables."""
    background.end(_interrupt)
    notebook.need(None)
    if now.crew:
        now.crew.dismiss()
    start()


def wait() -> None:
    """Waits for the cell that runs in the background (`%%ranks --bg`).

    Raises: what went wrong in it, as the cell itself would have.
    """
    background.wait(_interrupt)


def _interrupt() -> None:
    if now.crew and now.crew.turn:
        now.crew.turn.interrupt()


def stop() -> None:
    """Ends the ranks and whoever started them."""
    background.end(_interrupt)
    _end_all()
    now.n, now.device, now.limit_seconds = None, None, None


def _end_all() -> None:
    if now.crew:
        now.crew.dismiss()
    if now.starter:
        now.starter.close()
    now.crew = now.starter = None


atexit.register(stop)
