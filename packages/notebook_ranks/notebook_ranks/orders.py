"""Orders of a notebook to its ranks: a cell, a function, a variable there and back.

    %load_ext notebook_ranks
    %%ranks 4
    x = torch.ones(2, device=device) * rank
    dist.all_reduce(x)
    print(x)

In a cell, `torch`, `dist`, `rank`, `world_size`, `local_rank` and `device` are there, and so is the
group: `init_process_group` in a program that is pasted here takes it over. `pull("x")` brings a
variable here, a list by rank; `run(function)` calls a function of the notebook on every rank, and
brings what it returns.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from notebook_ranks import messages, session
from notebook_ranks.cells import cell, place, stand_ins
from notebook_ranks.messages import Grouping, Order
from notebook_ranks.page import notebook, script
from notebook_ranks.session import start
from notebook_ranks.watch.report import RankError, RanksError

GRACE_SECONDS = 5  # a collective gives up later than its cell, which has more to say
DAY_SECONDS = 86_400.0  # a cell without a limit: the notebook ends it, not torch's own clock


def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Calls a function of the notebook on every rank; what each returns, in a list by rank.

    Where it says `rank`, `world_size`, `local_rank` or `device`, those are the rank's. Its other
    names are the notebook's, and those that the notebook hasn't are what `%%ranks` cells made.
    Tensors come back on the CPU. Raises: RankError where it fails on a rank.
    """
    start()
    payload = _packed((notebook.sources(function), function, args, kwargs))
    return _results(messages.CallFunction(group=_group()), payload)


def push(**values: Any) -> None:
    """Gives every rank a variable for each keyword."""
    start()
    _results(messages.Push(), _packed(values))
    session.now.given |= set(values)


def _packed(values: Any) -> bytes:
    """As bytes for the ranks. Raises: RanksError for what can't travel between processes."""
    try:
        return cell.pack(values)
    except Exception as error:
        raise RanksError(f"This can't be sent to the ranks: {error}") from None


def pull(name: str) -> list[Any]:
    """Returns a variable of every rank: a list by rank. `name` may be dotted ("model.depth").

    Tensors come back on the CPU. Raises: RanksError for anything but a name, RankError where a
    rank has no such variable.
    """
    if not all(part.isidentifier() for part in name.split(".")):
        raise RanksError(
            f"pull takes the name of a variable, not {name!r}. Let a %%ranks cell keep the value, "
            "found = …, and pull('found'); or call a function there: ranks.run(function)."
        )
    start()
    return _results(messages.Pull(name=name))


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
    session.now.cells += 1
    filename = place.file_of(session.now.cells)
    place.remember(filename, source, called)
    shown, source = source, notebook.readable(source, filename)
    start(n, device)
    crew, session.now.ran = session.now.crew, session.now.cells
    assert crew is not None
    unknown = set(only or []) - set(crew.lines)
    if unknown:
        raise RanksError(f"No rank {sorted(unknown)[0]}: there are 0 to {len(crew.lines) - 1}.")
    limit = limit_seconds or session.now.limit_seconds
    group = _group(debug, limit)
    stores = stand_ins.stores_made(source)
    if only or stores:  # a group begins with all of its ranks, and a store with none of the old
        crew.run(messages.Prepare(stores=stores, group=group), limit_seconds=limit)
    order = messages.RunCell(
        source=source, filename=filename, shown=shown, called=called, argv=[*argv],
        group=None if only else group,
    )  # fmt: skip
    try:
        crew.run(order, only=only, limit_seconds=limit)
    except RankError as error:
        raise RankError(f"{error}{notebook.advice(str(error), session.now.lost)}") from None
    if save:
        size, on_cpu = len(crew.lines), session.now.device == "cpu"
        script.save(Path(save), source, session.now.done, size, on_cpu, session.now.given)
    session.now.done.append(source)


def _group(debug: bool = False, limit: float | None = None) -> Grouping:
    limit = limit or session.now.limit_seconds
    return Grouping(debug, limit + GRACE_SECONDS if limit else DAY_SECONDS)


def _results(order: Order, payload: bytes = b"") -> list[Any]:
    assert session.now.crew is not None
    outcomes = session.now.crew.run(order, payload, limit_seconds=session.now.limit_seconds)
    found = [outcomes[rank].payload for rank in sorted(outcomes)]
    return [cell.unpack(content) if content else None for content in found]
