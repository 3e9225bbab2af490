"""`python -m course_utils`: what it stores, what it refuses, and that nothing is half-written."""

import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest

from course_utils.cli import notebooks
from course_utils.core.files import ROOT


def notebook(path, *sources):
    cells = [nbformat.v4.new_code_cell(source, id=f"c{i}") for i, source in enumerate(sources)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_normalise_stores_one_clean_run(tmp_path):
    path = notebook(
        tmp_path / "n.ipynb",
        "print('a', end='', flush=True); print('b')",
        "import ipywidgets; ipywidgets.IntSlider()",
    )
    notebooks.normalise(path)
    stored = json.loads(path.read_text())
    first, second = stored["cells"]
    assert [c["execution_count"] for c in stored["cells"]] == [1, 2]
    assert [c["id"] for c in stored["cells"]] == ["c0", "c1"]
    assert "".join(first["outputs"][0]["text"]) == "ab\n"
    assert list(second["outputs"][0]["data"]) == ["text/plain"]
    assert "widgets" not in stored["metadata"] and "execution" not in first["metadata"]
    again = path.read_bytes()
    notebooks.normalise(path)
    assert path.read_bytes() == again


def test_a_notebook_that_fails_is_left_as_it_was(tmp_path):
    path = notebook(tmp_path / "n.ipynb", "1 + 1", "1 / 0")
    before = path.read_bytes()
    with pytest.raises(notebooks.NotebookError, match=r"code cell 2 \(1 / 0\): ZeroDivisionError"):
        notebooks.normalise(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["n.ipynb"]


def test_a_kernel_that_dies_is_a_sentence(tmp_path):
    path = notebook(tmp_path / "n.ipynb", "import os; os._exit(1)")
    with pytest.raises(notebooks.NotebookError, match="the kernel died"):
        notebooks.normalise(path)


def test_record_goes_on_after_a_failing_cell_and_keeps_whole_files(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "executed")
    path = notebook(
        tmp_path / "02_async_execution.ipynb",
        "from course_utils import start, record, claim; start('02_async_execution')",
        "claim('it-fails', 'no', False)",
        "record('logging', {'a step': 2.0})",
    )
    failed = notebooks.record(path, tmp_path / "recorded")
    assert len(failed) == 1 and "ClaimError" in failed[0]
    (kept,) = (tmp_path / "recorded").glob("*/02_async_execution/logging.json")
    assert json.loads(kept.read_text())["rows"] == [{"step": "a step", "each_over_late": 2.0}]
    (claims,) = (tmp_path / "recorded").glob("*/02_async_execution/claims.json")
    assert json.loads(claims.read_text())["rows"][0]["held"] is False
    assert list((tmp_path / "executed").glob("*/02_async_execution.ipynb"))


def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(notebooks.NotebookError, match=r"Nothing was run: .*--to FOLDER"):
        notebooks.record(tmp_path / "never_read.ipynb", tmp_path / "file" / "below")


def test_a_deprecation_warning_fails_a_chapter_in_ci(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_STRICT", "1")
    path = notebook(
        tmp_path / "n.ipynb",
        "from course_utils import start; start('02')",
        "import warnings; warnings.warn('old', FutureWarning)",
    )
    with pytest.raises(notebooks.NotebookError, match="FutureWarning: old"):
        notebooks.normalise(path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"nbformat": 9}'])
def test_what_is_no_notebook_gets_a_sentence(tmp_path, text):
    path = tmp_path / "n.ipynb"
    path.write_text(text)
    with pytest.raises(notebooks.NotebookError, match="can't be read as a notebook"):
        notebooks.normalise(path)


def test_an_edit_made_while_it_runs_is_not_lost(tmp_path):
    path = notebook(tmp_path / "n.ipynb", f"open({str(tmp_path / 'n.ipynb')!r}, 'a').write(' ')")
    with pytest.raises(notebooks.NotebookError, match="it was changed meanwhile"):
        notebooks.normalise(path)


@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM"])
def test_normalise_can_be_stopped_and_leaves_no_kernel(tmp_path, signal_name):
    path = notebook(
        tmp_path / "n.ipynb",
        f"import os; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))",
        "import time; time.sleep(60)",
    )
    before = path.read_bytes()
    code = (
        "import sys, pathlib; from course_utils import __main__ as m;"
        "from course_utils.cli import notebooks as n;"
        "m._chapters = lambda names: [pathlib.Path(names[0])];"
        "m._normalise = lambda o: n.normalise(m._chapters(o.chapters)[0]) and 0;"
        f"sys.exit(m.main(['normalise', {str(path)!r}]))"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    time.sleep(0.5)
    running.send_signal(getattr(signal, signal_name))
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert "Stopped. Nothing half-written is left." in said
    assert path.read_bytes() == before
    wait_until(lambda: not is_running(int((tmp_path / "pid").read_text())))


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.1)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] != "Z"
