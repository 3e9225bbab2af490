"""IPython on a rank: `display`, figures, % and !.

What a rank displays travels to the notebook as data, never pickled.
"""

import builtins
import json
import linecache
import os
import sys
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from IPython.core.displaypub import DisplayPublisher
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import print_figure
from IPython.display import display
from traitlets.config import Config

FILES = ("<timed exec>", "<timed eval>")  # what %%time calls the code that it runs
ASKING = ("debug", "pdb", "gui", "pylab", "recall", "edit")  # these want a keyboard or a window
LIMIT_BYTES = 4_000_000  # of figures and HTML, for a cell on a rank
TOO_MUCH = f"… more than {LIMIT_BYTES:,} bytes of figures and HTML in one cell: the rest as text"
INLINE = "matplotlib_inline.backend_inline"
RICH = (
    "_ipython_display_", "_repr_mimebundle_", "_repr_html_", "_repr_markdown_", "_repr_latex_",
    "_repr_svg_", "_repr_png_", "_repr_jpeg_", "_repr_json_", "_repr_javascript_", "_repr_pdf_",
)  # fmt: skip
Bundle = dict[str, Any]  # by media type


class _Publisher(DisplayPublisher):
    """Sends what this process displays through `send("display", JSON)`."""

    def use(self, send: Callable[[str, str], None]) -> None:
        self._send, self._owner, self.left = send, os.getpid(), LIMIT_BYTES

    def publish(
        self,
        data: Bundle,
        metadata: Bundle | None = None,
        *_source: Any,
        transient: Bundle | None = None,
        update: bool = False,
        **_others: Any,
    ) -> None:
        """Sends a bundle; where it is too much, or only text, prints its text."""
        sys.stdout.flush()
        sys.stderr.flush()
        content = {k: b64encode(v).decode() if isinstance(v, bytes) else v for k, v in data.items()}
        name = (transient or {}).get("display_id")
        text = content.get("text/plain", "")
        if set(content) <= {"text/plain"} and not name:
            return print(text)
        whole = json.dumps(
            {"data": content, "metadata": metadata or {}, "id": name, "update": update}
        )
        if os.getpid() != self._owner or not self._may(len(whole)):
            return print(text)
        self._send("display", whole)

    def clear_output(self, wait: bool = False) -> None:
        """Takes back what this rank has shown in this cell.

        With `wait`, what is on the page stays there until something else comes.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        if os.getpid() == self._owner:
            self.left = LIMIT_BYTES
            self._send("clear", "wait" if wait else "")

    def _may(self, size: int) -> bool:
        """Whether so many bytes may still be sent; the first that may not get a sentence."""
        if size <= self.left:
            self.left -= size
            return True
        if self.left:
            print(TOO_MUCH)
        self.left = 0
        return False


class _Shell(InteractiveShell):
    """One that shows no traceback of its own: what fails, fails on the rank."""

    def init_display_pub(self) -> None:
        self.display_pub = _Publisher(shell=self)

    def showtraceback(self, *_args: Any, **_more: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None:
            raise error

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        for name in FILES:
            linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        return super().run_cell_magic(magic_name, line, cell)


def make() -> Any:
    """The shell of this process; it takes 13 ms, so the helper has made it for its ranks."""
    if _Shell.initialized():
        return _Shell.instance()
    quiet = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"warn_venv": False}})
    found: Any = _Shell.instance(config=quiet, colors="nocolor")
    found.register_magic_function(lambda _line: None, "line", "matplotlib")
    for name in ASKING:
        found.register_magic_function(_refusal(name), "line", name)
    draw = partial(print_figure, fmt="png", base64=True)
    png = found.display_formatter.formatters["image/png"]
    png.for_type_by_name("matplotlib.figure", "Figure", draw)
    return found


def _refusal(name: str) -> Any:
    def refuse(_line: str) -> NoReturn:
        raise RuntimeError(f"%{name} wants a keyboard or a window, and a rank has none.")

    return refuse


def use(send: Callable[[str, str], None]) -> None:
    """Shows what this process displays through `send` from now on."""
    make().display_pub.use(send)
    sys.displayhook = show_value
    vars(builtins)["display"] = display
    os.environ.setdefault("MPLBACKEND", f"module://{INLINE}")


def begin() -> None:
    """Before a cell: it may display as much as any."""
    make().display_pub.left = LIMIT_BYTES


def end() -> None:
    """After a cell: the figures that it left open are shown and closed."""
    inline = sys.modules.get(INLINE)
    if inline:
        try:
            inline.flush_figures()
        except Exception as error:
            print(f"A figure can't be drawn: {type(error).__name__}: {error}", file=sys.stderr)


def show_value(value: Any) -> None:
    """A last expression: rich where its type can be, else as `repr` writes it."""
    if value is None:
        return
    if any(hasattr(type(value), name) for name in RICH):
        display(value)
    else:
        print(repr(value))


def as_python(source: str) -> str:
    """The source as Python where IPython can read it so, else the source itself."""
    before = source[: len(source) - len(source.lstrip("\n"))]
    return before + TransformerManager().transform_cell(source[len(before) :])
