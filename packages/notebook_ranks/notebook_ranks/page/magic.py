"""`%%ranks`: a cell for every rank."""

import argparse
import shlex
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import notebook_ranks as ranks
from notebook_ranks.page import background, notebook

_failures: list[str] = []


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        from IPython.core.error import UsageError

        raise UsageError(f"%%ranks: {message}\n{self.format_usage()}")


def parser() -> argparse.ArgumentParser:
    """The options of `%%ranks`."""
    found = _Parser(prog="%%ranks", add_help=False)
    found.add_argument("n", nargs="?", type=_at_least_1, help="how many ranks")
    found.add_argument("--only", type=_numbers, help="run on these ranks: 0,2")
    found.add_argument("--timeout", type=_positive, help="seconds that the cell may take")
    found.add_argument("--argv", type=shlex.split, help='"--epochs 3", for sys.argv')
    found.add_argument("--debug", action="store_true", help="TORCH_DISTRIBUTED_DEBUG=DETAIL")
    found.add_argument("--device", choices=("cpu", "cuda"), help="cuda: share GPUs over gloo")
    found.add_argument("--save", help="write the cell as a script for torchrun")
    found.add_argument("--bg", action="store_true", help="go on meanwhile; ranks.wait() waits")
    found.add_argument("--fails", action="store_true", help="the failure is wanted: print it")
    return found


def run_magic(line: str, source: str) -> None:
    """Runs the cell under a line such as `4 --only 0,2`.

    Line numbers in messages are those of the whole cell, its first line included.
    """
    options = parser().parse_args(_words(line))
    work = partial(
        ranks.run_cell,
        "\n" + source,
        options.n,
        only=options.only,
        debug=options.debug,
        limit_seconds=options.timeout,
        device=options.device,
        save=options.save,
        argv=options.argv or (),
        called=notebook.called_now(),
    )
    if options.fails:
        work = partial(_expect_failure, work)
    if options.bg:
        background.begin(work)
    else:
        work()


def _expect_failure(work: Callable[[], None]) -> None:
    """Prints and keeps what goes wrong. Raises: RankError where nothing does."""
    try:
        work()
    except ranks.RankError as error:
        _failures.append(str(error))
        print(error)
    else:
        raise ranks.RankError("✗ --fails: this cell was meant to fail, and didn't")


def failures() -> list[str]:
    """The messages of the cells that were meant to fail, in the order in which they ran."""
    return [*_failures]


def register(shell: Any) -> None:
    """Makes `%%ranks` known, and starts the helper while the reader reads."""
    shell.register_magic_function(lambda line, cell: run_magic(line, cell), "cell", "ranks")
    ranks.warm_up()


def _words(line: str) -> list[str]:
    """The words of the line; what follows --argv is its own, though it may begin with a dash."""
    words = shlex.split(line, comments=True)
    for at, word in enumerate(words[:-1]):
        if word == "--argv":
            words[at : at + 2] = [f"--argv={words[at + 1]}"]
            break
    return words


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"ranks are given as numbers: 0,2, not {text}") from None


def _at_least_1(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of ranks, 1 or more, not {text}")
    return int(text)


def _positive(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"seconds, more than 0, not {text}")
    return seconds
