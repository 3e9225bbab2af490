"""What a rank shows: figures, HTML and the like travel to the notebook as data, never pickled.

`display`, `plt.show()` and the value of a last expression work as in a notebook, by IPython's
formatters and matplotlib's inline backend; neither is imported before a cell needs it.
"""

import builtins
import importlib.util
import json
import os
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

LIMIT_BYTES = 4_000_000  # of figures and HTML, for a cell on a rank
TOO_MUCH = f"… more than {LIMIT_BYTES:,} bytes of figures and HTML in one cell: the rest as text"
INLINE = "matplotlib_inline.backend_inline"
FUNCTIONS = "IPython.core.display_functions"
RICH = (
    "_ipython_display_", "_repr_mimebundle_", "_repr_html_", "_repr_markdown_", "_repr_latex_",
    "_repr_svg_", "_repr_png_", "_repr_jpeg_", "_repr_json_", "_repr_javascript_", "_repr_pdf_",
)  # fmt: skip
Bundle = dict[str, Any]  # by media type
Send = Callable[[str, str], None]


class Displays:
    """Sends what this process displays through `send("display", JSON)` from now on."""

    def __init__(self, send: Send) -> None:
        self._send, self._owner, self.left = send, os.getpid(), LIMIT_BYTES
        sys.displayhook = self.show_value
        vars(builtins)["display"] = self._display_first
        os.environ.setdefault("MPLBACKEND", f"module://{INLINE}")
        after_import(FUNCTIONS, self._take_over)
        after_import(INLINE, lambda module: module.matplotlib.interactive(True))

    def begin(self) -> None:
        """Before a cell: it may display as much as any."""
        self.left = LIMIT_BYTES

    def end(self) -> None:
        """After a cell: the figures that it left open are shown and closed."""
        inline = sys.modules.get(INLINE)
        if inline:
            try:
                inline.flush_figures()
            except Exception as error:
                print(f"A figure can't be drawn: {type(error).__name__}: {error}", file=sys.stderr)

    def show_value(self, value: Any) -> None:
        """A last expression: rich where its type can be, else as `repr` writes it."""
        if value is None:
            return
        if any(hasattr(type(value), name) for name in RICH):
            self.display(value)
        else:
            print(repr(value))

    def display(
        self,
        *values: Any,
        raw: bool = False,
        include: Any = None,
        exclude: Any = None,
        metadata: Bundle | None = None,
        transient: Bundle | None = None,
        display_id: Any = None,
        clear: bool = False,
        update: bool = False,
        **_others: Any,
    ) -> Any:
        """IPython's `display`, with its arguments."""
        if clear:
            self.clear()
        name = os.urandom(8).hex() if display_id is True else display_id
        known = {**(transient or {}), **({"display_id": name} if name else {})}
        if name and not values:  # a place that is filled later
            values, raw = ({"text/plain": ""},), True
        for value in values:
            data, own = (value, {}) if raw else self._formatted(value, include, exclude)
            if data:
                self.publish(data, {**own, **(metadata or {})}, transient=known, update=update)
        functions = sys.modules.get(FUNCTIONS)
        return functions.DisplayHandle(name) if name and functions else None

    def publish(
        self,
        data: Bundle,
        metadata: Bundle | None = None,
        *,
        transient: Bundle | None = None,
        update: bool = False,
        **_others: Any,
    ) -> None:
        """Sends a bundle; where it is too much, or only text, prints its text."""
        sys.stdout.flush()
        sys.stderr.flush()
        content = {k: b64encode(v).decode() if isinstance(v, bytes) else v for k, v in data.items()}
        name = (transient or {}).get("display_id")
        if set(content) <= {"text/plain"} and not name:
            return print(content.get("text/plain", ""))
        whole = json.dumps(
            {"data": content, "metadata": metadata or {}, "id": name, "update": update}
        )
        if os.getpid() != self._owner or not self._may(len(whole)):
            return print(content.get("text/plain", ""))
        self._send("display", whole)

    def clear(self, wait: bool = False) -> None:
        """IPython's `clear_output`: takes back what this rank has shown in this cell.

        With `wait`, what is on the page stays there until something else comes.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        if os.getpid() == self._owner:
            self.begin()
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

    def _formatted(self, value: Any, include: Any, exclude: Any) -> tuple[Bundle, Bundle]:
        try:
            return self._formatter.format(value, include=include, exclude=exclude)
        except ImportError:  # no IPython on this machine
            return {"text/plain": repr(value)}, {}

    @cached_property
    def _formatter(self) -> Any:
        from IPython.core.formatters import DisplayFormatter
        from IPython.core.pylabtools import print_figure

        found = DisplayFormatter()
        draw = partial(print_figure, fmt="png", base64=True)
        found.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", draw)
        return found

    def _display_first(self, *values: Any, **options: Any) -> Any:
        """`display` in a cell that hasn't imported it."""
        with suppress(ImportError):
            importlib.import_module(FUNCTIONS)
        return self.display(*values, **options)

    def _take_over(self, functions: ModuleType) -> None:
        """IPython's functions, which ask a shell that a rank hasn't got, become these."""
        own = {
            "display": self.display, "publish_display_data": self.publish,
            "clear_output": self.clear,
        }  # fmt: skip
        vars(functions).update(own)


class _After(MetaPathFinder):
    """Calls a function with a module when it has been imported."""

    def __init__(self, name: str, then: Callable[[ModuleType], object]) -> None:
        self._name, self._then = name, then

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> Any:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (run(module), self._then(module))  # type: ignore[method-assign, assignment]
        return spec


def after_import(name: str, then: Callable[[ModuleType], object]) -> None:
    """Calls `then` with the module of that name as soon as it is there: now, or once imported."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _After(name, then))
