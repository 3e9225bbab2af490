"""`python -m course_utils`: what it stores, what it refuses, and that nothing is half-written."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from course_utils.cli import notebooks
from course_utils.core.files import ROOT
from tests.support.written import notebook


def test_normalise_stores_one_clean_run(tmp_path):
    path = notebook(
        tmp_path / "n.ipynb",
        ("print('a', end='', flush=True); print('b')",),
        ("import ipywidgets; ipywidgets.IntSlider()",),
    )
    collapsed = json.loads(path.read_text())
    collapsed["cells"][0]["metadata"] = {"jupyter": {"source_hidden": True}}
    path.write_text(json.dumps(collapsed))
    notebooks.normalise(path)
    stored = json.loads(path.read_text())
    first, second = stored["cells"]
    assert [(c["execution_count"], c["id"]) for c in stored["cells"]] == [(1, "c0"), (2, "c1")]
    assert "".join(first["outputs"][0]["text"]) == "ab\n"
    assert list(second["outputs"][0]["data"]) == ["text/plain"]
    assert "widgets" not in stored["metadata"]
    assert first["metadata"] == {"jupyter": {"source_hidden": True}}, "and no times"
    again = path.read_bytes()
    notebooks.normalise(path)
    assert path.read_bytes() == again


OPEN = """from course_utils import claim
from course_utils.core.measurement import Measurement
claim("it-is-quick", "it is quick", Measurement((2.0,), 1, 5.0, "host"), below=1)"""


def test_an_undecided_claim_is_not_stored(tmp_path):
    path = notebook(tmp_path / "n.ipynb", (OPEN,))
    before = path.read_bytes()
    with pytest.raises(notebooks.NotebookError, match="a claim stayed undecided"):
        notebooks.normalise(path)
    assert path.read_bytes() == before


def test_a_notebook_that_fails_is_left_as_it_was(tmp_path):
    path = notebook(tmp_path / "n.ipynb", ("1 + 1",), ("1 / 0",))
    before = path.read_bytes()
    with pytest.raises(notebooks.NotebookError, match=r"code cell 2 \(1 / 0\): ZeroDivisionError"):
        notebooks.normalise(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["n.ipynb"]


@pytest.mark.thorough("course_utils/cli/notebooks.py", "course_utils/lesson/start.py")
@pytest.mark.parametrize(
    "source, says",
    [
        ("import os; os._exit(1)", "the kernel died"),
        ("open('n.ipynb', 'a').write(' ')", "it was changed meanwhile"),
        (
            "from course_utils import start; start('02')\n"
            "import warnings; warnings.warn('old', FutureWarning)",
            "FutureWarning: old",
        ),
    ],
)
def test_a_dead_kernel_an_edit_made_meanwhile_and_a_deprecation_are_a_sentence(
    source, says, tmp_path, monkeypatch
):
    monkeypatch.setenv("COURSE_STRICT", "1")
    path = notebook(tmp_path / "n.ipynb", (source,))
    with pytest.raises(notebooks.NotebookError, match=says):
        notebooks.normalise(path)
    assert json.loads(path.read_text())["cells"][0]["outputs"] == []


@pytest.mark.thorough("course_utils/cli", "course_utils/core/recording.py")
def test_record_goes_on_after_a_failing_cell_and_keeps_whole_files(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "executed")
    path = notebook(
        tmp_path / "02_async_execution.ipynb",
        ("from course_utils import start, record, claim; start('02_async_execution')",),
        ("claim('it-fails', 'no', False)",),
        ("record('cures', {'one operator': 2.0})",),
    )
    failed = notebooks.record(path, tmp_path / "recorded")
    assert len(failed) == 1 and "ClaimError" in failed[0]
    (kept,) = (tmp_path / "recorded").glob("*/02_async_execution/cures.json")
    assert json.loads(kept.read_text())["rows"] == [{"way": "one operator", "seconds": 2.0}]
    (claims,) = (tmp_path / "recorded").glob("*/02_async_execution/claims.json")
    assert json.loads(claims.read_text())["rows"][0]["held"] is False
    assert list((tmp_path / "executed").glob("*/02_async_execution.ipynb"))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"nbformat": 9}'])
def test_what_is_no_notebook_and_a_folder_that_cannot_be_written_get_a_sentence(tmp_path, text):
    (tmp_path / "n.ipynb").write_text(text)
    with pytest.raises(notebooks.NotebookError, match="can't be read as a notebook"):
        notebooks.normalise(tmp_path / "n.ipynb")
    with pytest.raises(notebooks.NotebookError, match=r"Nothing was run: .*--to FOLDER"):
        notebooks.record(tmp_path / "never_read.ipynb", tmp_path / "n.ipynb" / "below")


STOPPED = """
import sys
from pathlib import Path
from course_utils.__main__ import main
from course_utils.core import files

files.ROOT = files.NOTEBOOKS = files.SOLUTIONS = Path(sys.argv[1])
sys.exit(main(["normalise", "02"]))
"""


@pytest.mark.thorough("course_utils/cli/notebooks.py", "course_utils/__main__.py")
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_normalise_can_be_stopped_and_leaves_no_kernel(tmp_path, signal_number):
    pid = tmp_path / "pid"
    path = notebook(
        tmp_path / "02_async_execution.ipynb",
        (f"import os, time; print(os.getpid(), file=open({str(pid)!r}, 'w')); time.sleep(600)",),
    )
    before = path.read_bytes()
    running = subprocess.Popen(
        [sys.executable, "-c", STOPPED, tmp_path], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"))
    running.send_signal(signal_number)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 130, said
    assert "Stopped. Nothing half-written is left." in said
    assert path.read_bytes() == before
    wait_until(lambda: not psutil.pid_exists(int(pid.read_text())))


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)
