"""Many ranks in one notebook: processes of one group that run cells and functions together.

    %load_ext course_utils
    %%ranks 4
    x = torch.ones(2, device=device) * rank
    dist.all_reduce(x)
    print(x)

In a cell, `torch`, `dist`, `rank`, `world_size`, `local_rank` and `device` are there, and so is the
group: `init_process_group` in a program that is pasted here takes it over. The ranks and their
variables stay until `restart`, `stop`, another number of ranks, or a fault that breaks them.
`pull("x")` brings a variable here, a list by rank; `run(function)` calls a function of the notebook
on every rank, and brings what it returns.
"""

import atexit
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from course_utils.ranks.cells import cell, place, stand_ins
from course_utils.ranks.engine import wire
from course_utils.ranks.engine.crew import Crew
from course_utils.ranks.engine.starters import Forked, Launched, Spawned, Starter
from course_utils.ranks.page import background, notebook, script
from course_utils.ranks.watch.report import RankError, RanksError

START = "COURSE_RANKS_START"  # "fork" or "spawn"; the system's way where it isn't set
GRACE_SECONDS = 5  # a collective gives up later than its cell, which has more to say
DAY_SECONDS = 86_400.0  # a cell without a limit: who watches it ends it, not torch's own clock


class _Session:
    """What this notebook has: a starter, its ranks, and how they were asked for."""

    starter: Starter | None = None
    crew: Crew | None = None
    n: int | None = None
    device: str | None = None
    cells = 0
    limit_seconds: float | None = None
    done: list[str]  # the cells that these ranks have run, and below what was pushed to them
    given: set[str]
    before: int | None = None  # how many ranks there were, where these replaced others
    ran = lost = 0  # the last cell that ranks were given, and that of the ranks before these


_session = _Session()


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
    _session.limit_seconds = limit_seconds or _session.limit_seconds
    if _fits(n, device):
        return
    connected = isinstance(_session.starter, Launched)
    known = _session.n
    if connected and known and n not in (None, known):
        raise RanksError(f"The command starts {known} ranks, not {n}; connect with another one.")
    if (n or known) is None and not connected:
        raise RanksError("No ranks are running yet. Say how many: %%ranks 4, or ranks.start(4).")
    if not connected:
        notebook.need(device)
    starter = _starter()
    before = len(_session.crew.lines) if _session.crew else None
    if _session.crew:
        _session.crew.dismiss()
        _session.crew = None
    wanted = device or _session.device
    _session.crew = Crew(starter, n or known, wanted)
    _session.device, _session.before, _session.lost = wanted, before, _session.ran
    _session.n, _session.done, _session.given = len(_session.crew.lines), [], set()


def _fits(n: int | None, device: str | None) -> bool:
    """Whether the ranks that run are those that are asked for."""
    crew = _session.crew
    if crew is None or crew.broken:
        return False
    if crew.lost:
        print("The ranks were gone. These are new ones, and their variables start afresh.")
        return False
    return n in (None, len(crew.lines)) and device in (None, _session.device)


def _starter() -> Starter:
    """Who starts ranks, made where there is none yet; a helper that was killed is replaced."""
    if os.name == "nt":
        raise RanksError("Ranks need Linux or macOS. On Windows, run the course in WSL.")
    if isinstance(_session.starter, Forked) and not _session.starter.alive():
        _end_all()
    if _session.starter is None:
        wanted = os.environ.get(START, "fork" if sys.platform == "linux" else "spawn")
        _session.starter = Forked() if wanted == "fork" else Spawned()
    return _session.starter


def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Calls a function of the notebook on every rank; what each returns, in a list by rank.

    Where it says `rank`, `world_size`, `local_rank` or `device`, those are the rank's. Its other
    names are the notebook's, and those that the notebook hasn't are what `%%ranks` cells made.
    Tensors come back on the CPU. Raises: RankError where it fails on a rank.
    """
    start()
    payload = _packed((notebook.sources(function), function, args, kwargs))
    return _results({"do": "call", **_group()}, payload)


def push(**values: Any) -> None:
    """Gives every rank a variable for each keyword."""
    start()
    _results({"do": "push"}, _packed(values))
    _session.given |= set(values)


def _packed(values: Any) -> bytes:
    """As bytes for the ranks. Raises: RanksError for what can't travel between processes."""
    try:
        return cell.pack(values)
    except Exception as error:
        raise RanksError(f"This can't be sent to the ranks: {error}") from None


def pull(name: str) -> list[Any]:
    """What a variable holds on every rank: a list by rank. `name` may be dotted ("model.depth").

    Tensors come back on the CPU. Raises: RanksError for anything but a name, RankError where a
    rank has no such variable.
    """
    if not all(part.isidentifier() for part in name.split(".")):
        raise RanksError(
            f"pull takes the name of a variable, not {name!r}. Let a %%ranks cell keep the value, "
            "found = …, and pull('found'); or call a function there: ranks.run(function)."
        )
    start()
    return _results({"do": "pull", "name": name})


def run_cell(
    source: str,
    n: int | None = None,
    only: list[int] | None = None,
    debug: bool = False,
    limit_seconds: float | None = None,
    device: str | None = None,
    save: str | None = None,
    argv: Sequence[str] = (),
    called: str = "",
) -> None:
    """Runs source text on the ranks, as `%%ranks` does; output is printed rank by rank.

    `only` names ranks, `debug` lets torch check every collective, `limit_seconds` bounds the cell
    and each collective, `save` is the file to which a cell that succeeds is written as a script
    for torchrun, `argv` is the cell's sys.argv[1:], and `called` what messages call the cell.
    Raises: RankError where it fails on a rank, or before anything runs where it isn't Python;
    RanksInterrupted; RanksError where the ranks can't be started.
    """
    _session.cells += 1
    filename = place.file_of(_session.cells)
    place.remember(filename, source, called)
    shown, source = source, notebook.readable(source, filename)
    start(n, device)
    crew, _session.ran = _session.crew, _session.cells
    assert crew is not None
    unknown = set(only or []) - set(crew.lines)
    if unknown:
        raise RanksError(f"No rank {sorted(unknown)[0]}: there are 0 to {len(crew.lines) - 1}.")
    limit = limit_seconds or _session.limit_seconds
    group = _group(debug, limit)
    stores = stand_ins.stores_made(source)
    if only or stores:  # a group begins with all of its ranks, and a store with none of the old
        crew.run({"do": "ready", "stores": stores, **group}, limit_seconds=limit)
    told = {"source": source, "shown": shown, "filename": filename, "called": called}
    order = {"do": "cell", **told, "argv": [*argv], **({} if only else group)}
    try:
        crew.run(order, only=only, limit_seconds=limit)
    except RankError as error:
        n, before, lost = len(crew.lines), _session.before, _session.lost
        raise RankError(f"{error}{notebook.advice(str(error), n, before, lost)}") from None
    _session.before = None
    if save:
        size, on_cpu = len(crew.lines), _session.device == "cpu"
        script.save(Path(save), source, _session.done, size, on_cpu, _session.given)
    _session.done.append(source)


def connect(*commands: str, host: str = "127.0.0.1", device: str | None = None) -> None:
    """From now on, ranks are those that commands start: torchrun, srun or mpirun.

    Give the command without a program: `connect("torchrun --nproc-per-node 2")`. Several commands
    are started side by side. `host` is this machine's address as other machines see it.
    Raises: RanksError where not all of the ranks dial in.
    """
    stop()
    _session.starter = Launched(commands, host)
    start(device=device)


def restart() -> None:
    """New ranks, as many as there were, with no variables."""
    background.end(_interrupt)
    notebook.need(None)
    if _session.crew:
        _session.crew.dismiss()
    start()


def wait() -> None:
    """Waits for the cell that runs in the background (`%%ranks --bg`).

    Raises: what went wrong in it, as the cell itself would have.
    """
    background.wait(_interrupt)


def _interrupt() -> None:
    if _session.crew and _session.crew.turn:
        _session.crew.turn.interrupt()


def stop() -> None:
    """Ends the ranks and whoever started them."""
    background.end(_interrupt)
    _end_all()
    _session.n, _session.device, _session.limit_seconds = None, None, None


def _group(debug: bool = False, limit: float | None = None) -> wire.Message:
    limit = limit or _session.limit_seconds
    return {"debug": debug, "timeout": limit + GRACE_SECONDS if limit else DAY_SECONDS}


def _results(order: wire.Message, payload: bytes = b"") -> list[Any]:
    assert _session.crew is not None
    outcomes = _session.crew.run(order, payload, limit_seconds=_session.limit_seconds)
    found = [outcomes[rank].payload for rank in sorted(outcomes)]
    return [cell.unpack(content) if content else None for content in found]


def _end_all() -> None:
    if _session.crew:
        _session.crew.dismiss()
    if _session.starter:
        _session.starter.close()
    _session.crew = _session.starter = None


atexit.register(stop)
