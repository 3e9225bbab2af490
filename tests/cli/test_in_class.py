"""In front of a class: rehearsal, falling back on what is stored, long steps that are stopped."""

import os
import subprocess
import time
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel

from course_utils.__main__ import main
from course_utils.cli import demo
from course_utils.cli.notebooks import run
from course_utils.core import files
from course_utils.core.running import UNATTENDED
from course_utils.lesson import page

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def notebook(path, *cells):
    made = [
        nbformat.v4.new_code_cell(source, id=f"c{i}", outputs=list(outputs))
        for i, (source, *outputs) in enumerate(cells)
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path


def said(text):
    return nbformat.v4.new_output("stream", text=text)


def drawn():
    return nbformat.v4.new_output("execute_result", {"image/png": PIXEL}, execution_count=1)


def test_a_cell_that_fails_in_class_shows_what_is_stored_and_the_class_goes_on(
    tmp_path, monkeypatch
):
    cells = [
        ("from course_utils import start; start('02')",),
        ("print('live'); value = 1 / 0", said("it was 7\n"), drawn()),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", said("never stopped\n")),
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


def test_a_rehearsal_names_what_is_slow_what_failed_and_what_is_not_live(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "SLOW_SECONDS", 0.4)
    path = notebook(
        tmp_path / "n.ipynb",
        ("import time; time.sleep(0.5)",),
        ("1 / 0",),
        ("print('– a GPU is quick: not tested here (a GPU is needed; no recording)')",),
    )
    before = path.read_bytes()
    report = demo.report(demo.rehearse(path))
    assert report.count("Slow in front of a class: ") == 1
    assert "Slow in front of a class: cell 1, " in report
    assert "✗ cell 2 failed: ZeroDivisionError" in report
    assert "Not live here: a GPU is quick" in report
    assert "in all" in report and path.read_bytes() == before


def test_what_is_stored_for_a_class_is_a_copy_below_build(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "STORED", tmp_path / "demo")
    chapter = files.chapter_path("02")
    assert demo.keep_stored(chapter).read_bytes() == chapter.read_bytes()


def test_the_chapter_opens_with_what_is_stored_at_hand_and_jupyterlabs_options(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(demo, "STORED", tmp_path / "demo")
    monkeypatch.setattr(demo, "rehearse", lambda path: [])
    monkeypatch.setattr("course_utils.cli.doctor.examine", lambda: [])
    opened = {}
    finished = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(
        demo.subprocess, "run", lambda command, **how: opened.update(how, line=command) or finished
    )
    assert main(["demo", "06", "--no-browser", "--port", "9000"]) == 0
    assert opened["line"][-4:] == [
        "06_floating_point_formats.ipynb", "--no-browser", "--port", "9000"
    ]  # fmt: skip
    assert opened["cwd"] == files.NOTEBOOKS
    stored = Path(opened["env"][page.DEMO])
    assert stored.parent == tmp_path / "demo" and stored.exists()


def test_an_option_that_no_command_knows_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["doctor", "--no-browser"])
    assert "unrecognized arguments: --no-browser" in capsys.readouterr().err


@pytest.fixture
def kernel(monkeypatch):
    """A kernel as a reader's is, and a function that runs a cell in it and returns the reply."""
    for name in (UNATTENDED, "PYTEST_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(files.ROOT))
    manager, client = start_new_kernel()
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_long_step_shows_a_bar_and_stops_cleanly(kernel, tmp_path):
    manager, client = kernel
    begun = tmp_path / "begun"
    cell = (
        "import time\nfrom course_utils import bar\n"
        f"for i in bar(range(10**6), 'training'):\n"
        f"    time.sleep(0.01)\n    i == 150 and open({str(begun)!r}, 'w').close()"
    )
    request = client.execute(cell)
    end = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    manager.interrupt_kernel()
    while (reply := client.get_shell_msg(timeout=30))["parent_header"].get("msg_id") != request:
        pass  # a kernel that was slow to start answers several times that it is there
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    shown = []
    while True:
        message = client.get_iopub_msg(timeout=10)
        mine = message["parent_header"].get("msg_id") == request
        if mine and message["content"].get("execution_state") == "idle":
            break
        shown.append(str(message["content"]))
    assert any("training" in text for text in shown)
    code = "import psutil, json; print(len(psutil.Process().children()))"
    done = client.execute_interactive(code, timeout=30, output_hook=shown.append)
    assert done["content"]["status"] == "ok"
    assert shown[-2]["content"].get("text") == "0\n"


def test_nobody_there_no_bar(capfd):
    from course_utils import bar

    assert list(bar(range(3), "steps")) == [0, 1, 2]
    assert capfd.readouterr() == ("", "") and "PYTEST_VERSION" in os.environ
