"""Follows the page that runs: keeps the reader's progress, says that a long cell still runs,
explains a missing name, and lets a demonstration go on.

`attach` is called by `start`. In a demonstration (`python -m course_utils demo`), a cell that fails
shows its stored outputs and says so, and the cells after it run.
"""

import html
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from course_utils.core import running
from course_utils.lesson import catalog, progress

LONG_SECONDS = 3  # a cell that takes longer says that it still runs
LONGEST = 160  # characters of an error that a class is shown
DEMO = "COURSE_DEMO"  # the stored copy of the chapter that is shown; others use their own file
STORED = (
    "<div style='border-left:6px solid #D55E00;padding:.4em .8em;background:#FFF4E8;color:#222'>"
    "<b>Stored, not live.</b> {}</div>"
)
_attached: list["Page"] = []


class Page:
    """The cells of a chapter's file; a running cell is found by id, else by its source."""

    def __init__(self, shell: Any, chapter: str, path: Path) -> None:
        self.shell, self.chapter = shell, chapter
        self.cells = {cell["id"]: cell for cell in catalog.code_cells(path)}
        self.runs: Any = None  # what IPython says of the cell that runs now
        self.long: StillRunning | None = None

    def find(self, info: Any) -> dict[str, Any] | None:
        """The stored cell that is running; None for a cell that the reader added."""
        cell = self.cells.get(getattr(info, "cell_id", None) or "")
        source = info.raw_cell.strip()
        by_source = (c for c in self.cells.values() if c["source"].strip() == source)
        return cell or next(by_source, None)

    def unchanged(self, info: Any) -> dict[str, Any] | None:
        """The stored cell that is running; None if the reader added it or changed its source."""
        cell = self.find(info) if info is not None else None
        return cell if cell and cell["source"].strip() == info.raw_cell.strip() else None

    def before_cell(self, info: Any) -> None:
        """Called by IPython before each cell."""
        self.runs = info
        if running.is_attended() and not info.raw_cell.startswith("%%ranks"):  # these say it
            self.long = StillRunning()
            self.long.start()

    def after_cell(self, result: Any) -> None:
        """Called by IPython after each cell."""
        if self.long:
            self.long.end()
        if result is None or result.info is None:
            return
        if not result.success and os.environ.get(DEMO):
            cell = self.unchanged(result.info)
            if cell:
                self.fall_back(result, cell)
        elif not result.success:
            self.name_the_cell_to_run(result)
        else:
            cell = self.find(result.info)
            if cell:
                progress.ran_cell(self.chapter, cell["id"])

    def name_the_cell_to_run(self, result: Any) -> None:
        """Prints which earlier cell defines the name that a failed cell lacks, if one does."""
        missing, failed = getattr(result.error_in_exec, "name", None), self.find(result.info)
        if not isinstance(result.error_in_exec, NameError) or not missing or not failed:
            return
        from notebook_ranks.page.notebook import names_given

        cells = list(self.cells.values())
        earlier = reversed(cells[: cells.index(failed)])
        found = next((cell for cell in earlier if missing in names_given(cell["source"])), None)
        if found:
            print(
                f"`{missing}` comes from an earlier cell, which hasn't run here, or "
                f"failed. It begins with\n    {found['source'].strip().splitlines()[0]}\n"
                "Run it first (or all of them: Run → Run All Above Selected Cell)."
            )

    def fall_back(self, result: Any, cell: dict[str, Any]) -> None:
        """Shows the stored outputs under one sentence and removes the failure from the result."""
        from IPython.display import HTML, display

        display(HTML(STORED.format(_why(result.error_before_exec or result.error_in_exec))))
        for output in cell["outputs"]:
            _show(output)
        result.error_before_exec = result.error_in_exec = None

    def keep_quiet(
        self, _shell: Any, kind: type, error: Any, trace: Any, tb_offset: int | None = None
    ) -> None:
        """Shows the traceback of a failed cell, unless its stored outputs will be shown."""
        if not self.unchanged(self.runs):
            self.shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


class StillRunning(threading.Thread):
    """Shows a line with the seconds that a long cell has run; `end` takes the line away."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended, self.began, running.step = threading.Event(), time.monotonic(), ""

    def run(self) -> None:
        from IPython.display import display

        if self.ended.wait(LONG_SECONDS):
            return
        shown = display(self.line(), raw=True, display_id=True)
        while not self.ended.wait(1):
            shown.update(self.line(), raw=True)
        shown.update({"text/html": "", "text/plain": ""}, raw=True)

    def line(self) -> dict[str, str]:
        seconds = time.monotonic() - self.began
        text = f"Still running after {seconds:.0f} s{running.step} …"
        return {"text/html": f"<i>{html.escape(text)}</i>", "text/plain": text}

    def end(self) -> None:
        self.ended.set()
        self.join(timeout=1)


def offer(**functions: Any) -> None:
    """Adds names to the notebook, except those that it defines itself."""
    if shell := _shell():
        for name, function in functions.items():
            shell.user_ns.setdefault(name, function)


def attach(chapter: str, path: Path) -> None:
    """Follows the cells of `chapter` in this kernel; does nothing outside a kernel."""
    shell = _shell()
    if shell is None or not (progress.is_kept() or os.environ.get(DEMO)):
        return
    with suppress(OSError, ValueError, KeyError):
        shown = Path(os.environ.get(DEMO, ""))
        page = Page(shell, chapter, shown if shown.stem == chapter else path)
        detach()
        _attached.append(page)
        shell.events.register("pre_run_cell", page.before_cell)
        shell.events.register("post_run_cell", page.after_cell)
        if os.environ.get(DEMO):
            shell.set_custom_exc((Exception, KeyboardInterrupt), page.keep_quiet)


def detach() -> None:
    """Undoes `attach`."""
    while _attached:
        page = _attached.pop()
        if page.long:  # the set-up cell runs again, and the old after_cell won't be called
            page.long.end()
        page.shell.events.unregister("pre_run_cell", page.before_cell)
        page.shell.events.unregister("post_run_cell", page.after_cell)
        page.shell.set_custom_exc((), None)


def _why(error: BaseException | None) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "This cell was interrupted; below is what it gave when the chapter was stored."
    said = html.escape(f"{type(error).__name__}: {error}".strip(": ")[:LONGEST])
    return f"This cell failed here ({said}); below is what it gave when the chapter was stored."


def _show(output: dict[str, Any]) -> None:
    from IPython.display import display

    if output["output_type"] == "stream":
        print("".join(output["text"]), end="")
    elif "data" in output:
        joined = {kind: _joined(value) for kind, value in output["data"].items()}
        display(joined, raw=True)


def _joined(value: Any) -> Any:
    return "".join(value) if isinstance(value, list) else value


def _shell() -> Any:
    from IPython import get_ipython

    shell = get_ipython()
    return shell if shell is not None and hasattr(shell, "kernel") else None
