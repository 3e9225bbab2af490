"""A cell that fails in front of a class falls back on what is stored."""

import threading
from types import SimpleNamespace

import nbformat
import pytest

from course_utils.cli.notebooks import run
from course_utils.core import files
from course_utils.lesson import page
from tests.support.written import notebook

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
INTERRUPTED = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
while True:
    time.sleep(0.01)
"""
DRAWN = nbformat.v4.new_output("execute_result", {"image/png": PIXEL}, execution_count=1)


def said(text):
    return nbformat.v4.new_output("stream", text=text)


@pytest.mark.thorough("course_utils/lesson", "course_utils/cli")
def test_a_cell_that_fails_in_class_shows_what_is_stored_and_the_class_goes_on(
    tmp_path, monkeypatch
):
    cells = [
        ("from course_utils import start; start('02')",),
        ("print('live'); value = 1 / 0", said("it was 7\n"), DRAWN),
        (INTERRUPTED, said("never stopped\n")),
        ("print('the next cell runs')", said("stored\n")),
        ("value + 1", said("8\n")),
    ]
    stored = notebook(tmp_path / "02_async_execution.ipynb", *cells)
    shown = notebook(tmp_path / "shown.ipynb", *cells, ("1 / 0  # my own",))
    monkeypatch.setenv(page.DEMO, str(stored))
    made, failed = run(shown, stop_at_error=False)
    assert failed == ["code cell 6 (1 / 0  # my own): ZeroDivisionError: division by zero"]
    outputs = [[str(o.get("text") or o.get("data")) for o in cell.outputs] for cell in made.cells]
    assert "Stored, not live" in outputs[1][1] and "ZeroDivisionError: division" in outputs[1][1]
    assert outputs[1][0] == "live\n" and outputs[1][2] == "it was 7\n" and PIXEL in outputs[1][3]
    assert "was interrupted" in outputs[2][0] and outputs[2][1] == "never stopped\n"
    assert outputs[3] == ["the next cell runs\n"]
    assert "NameError" in outputs[4][0] and outputs[4][1] == "8\n"


class Shown:
    """Takes the place of IPython's `display`, and of the handle that it returns."""

    def __init__(self):
        self.texts, self.first = [], threading.Event()

    def __call__(self, data, raw, display_id=None):
        self.texts.append(data["text/plain"])
        self.first.set()
        return self

    update = __call__


@pytest.mark.parametrize("source, is_watched", [("x", True), ("x", False), ("%%ranks 2", True)])
def test_a_long_cell_says_that_it_runs_while_somebody_watches(source, is_watched, monkeypatch):
    shown, info = Shown(), SimpleNamespace(cell_id="", raw_cell=source)
    monkeypatch.setattr("IPython.display.display", shown)
    monkeypatch.setattr(page, "LONG_SECONDS", 0)
    monkeypatch.setattr(page.running, "is_attended", lambda: is_watched)
    followed = page.Page(None, "02_async_execution", files.chapter_path("02"))
    followed.before_cell(info)
    if says := is_watched and source == "x":
        assert shown.first.wait(30)
    followed.after_cell(None)
    assert shown.texts == ["Still running after 0 s …", ""] * says
    still = page.StillRunning()
    monkeypatch.setattr(page.running, "step", ", round 3 of <9>")
    assert "0 s, round 3 of &lt;9&gt; …" in still.line()["text/html"]


def test_running_the_set_up_cell_again_ends_the_line_of_the_page_before(monkeypatch):
    shown, info = Shown(), SimpleNamespace(cell_id="", raw_cell="start('02')")
    monkeypatch.setattr("IPython.display.display", shown)
    monkeypatch.setattr(page, "LONG_SECONDS", 0)
    monkeypatch.setattr(page.running, "is_attended", lambda: True)
    events = SimpleNamespace(register=lambda *_: None, unregister=lambda *_: None)
    shell = SimpleNamespace(events=events, set_custom_exc=lambda *_: None)
    monkeypatch.setattr(page, "_attached", [])
    monkeypatch.setattr(page, "_shell", lambda: shell)
    monkeypatch.setattr(page.progress, "is_kept", lambda: True)
    page.attach("02_async_execution", files.chapter_path("02"))
    page._attached[0].before_cell(info)
    assert shown.first.wait(30)
    page.attach("02_async_execution", files.chapter_path("02"))
    assert shown.texts[-1] == "" and len(page._attached) == 1


class Ran:
    """What IPython says of a cell that failed with `error`."""

    success, error_before_exec = False, None

    def __init__(self, cell, error):
        self.error_in_exec = error
        self.info = SimpleNamespace(cell_id=cell["id"], raw_cell=cell["source"])


def test_a_missing_name_is_said_with_the_earlier_cell_that_defines_it(tmp_path, capsys):
    cells = [
        "import torch as t",
        "%time\nn, m = 1, 2",
        "class n:\n    def t(self, a):\n        k = [t for t in a]\nif n:\n    m = 3",
        "m + n",
        "m = 4",
    ]
    path = notebook(tmp_path / "02_async_execution.ipynb", *[(cell,) for cell in cells])
    followed = page.Page(None, "02_async_execution", path)
    where = list(followed.cells.values())[3]
    for name, said in (("m", "    class n:\n"), ("t", "    import torch as t\n"), ("k", "")):
        followed.after_cell(Ran(where, NameError(name, name=name)))
        printed = capsys.readouterr().out
        assert said in printed and bool(printed) == bool(said)
    followed.after_cell(Ran(where, ValueError("m")))
    assert not capsys.readouterr().out


@pytest.mark.thorough("course_utils/lesson")
def test_hints_and_solutions_need_no_import(tmp_path):
    ask = "hint('trade.chunks'); solution('trade.chunks')"
    shown = notebook(tmp_path / "x.ipynb", ("from course_utils import start; start('10')",), (ask,))
    made, failed = run(shown, stop_at_error=False)
    assert not failed and "Hint 1 of " in str(made.cells[1].outputs)
