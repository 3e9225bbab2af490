"""IPython on a rank, for cells with % and !: made when the first of them comes."""

import linecache
import sys
from typing import Any, NoReturn

FILES = ("<timed exec>", "<timed eval>")  # what %%time calls the code that it runs
ASKING = ("debug", "pdb", "gui", "pylab", "recall", "edit")  # these want a keyboard or a window


def get_ipython() -> Any:
    """The shell of this rank, whose names are the rank's."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        """One that shows no traceback of its own: what fails, fails on the rank."""

        def showtraceback(self, *_args: Any, **_more: Any) -> None:
            error = sys.exc_info()[1]
            if error is not None:
                raise error

        def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
            for name in FILES:
                linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
            return super().run_cell_magic(magic_name, line, cell)

    if not Shell.initialized():
        quiet = Config({"HistoryManager": {"enabled": False}})
        main = sys.modules["__main__"]
        found: Any = Shell.instance(
            config=quiet, user_module=main, user_ns=main.__dict__, colors="nocolor"
        )
        found.register_magic_function(_nothing, "line", "matplotlib")
        for name in ASKING:
            found.register_magic_function(_refusal(name), "line", name)
    return Shell.instance()


def _nothing(_line: str) -> None:
    """%matplotlib: figures of a rank are shown without it."""


def _refusal(name: str) -> Any:
    def refuse(_line: str) -> NoReturn:
        raise RuntimeError(f"%{name} wants a keyboard or a window, and a rank has none.")

    return refuse


def as_python(source: str) -> str:
    """The source as Python where IPython can read it so, else the source itself."""
    try:
        from IPython.core.inputtransformer2 import TransformerManager
    except ImportError:
        return source
    before = source[: len(source) - len(source.lstrip("\n"))]
    return before + TransformerManager().transform_cell(source[len(before) :])
