"""A hosted notebook: what is missing is installed, what is there isn't touched, no GPU is said."""

import json
import re
import subprocess

import pytest

from course_utils.core.files import INDEX, ROOT
from tools import hosted


@pytest.fixture
def pip(monkeypatch):
    """What pip would have been asked: its arguments and the constraints it was given."""
    asked = []

    def pretend(command, **_):
        pins = command[command.index("--constraint") + 1]
        with open(pins) as file:
            asked.append((command, file.read()))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(hosted.subprocess, "run", pretend)
    monkeypatch.setattr(hosted.os.path, "exists", lambda path: False)
    monkeypatch.setattr(hosted.shutil, "which", lambda name: None)
    return asked


def test_where_all_is_there_pip_is_not_asked(pip, capsys):
    assert hosted.main() == 0
    said = capsys.readouterr().out
    assert pip == [] and "Nothing was missing." in said
    assert "This runtime has no GPU. Every chapter runs all the same" in said


def test_what_is_missing_is_installed_beside_the_torch_that_is_there(pip, monkeypatch, capsys):
    here = hosted.installed
    absent = ("gfloat", "anywidget")
    monkeypatch.setattr(hosted, "installed", lambda name: None if name in absent else here(name))
    assert hosted.main() == 0
    ((command, pins),) = pip
    assert command[-2:] == ["gfloat>=0.5", "anywidget"]
    assert f"torch=={here('torch')}\n" in pins and f"numpy=={here('numpy')}\n" in pins
    assert "Installed gfloat>=0.5, anywidget." in capsys.readouterr().out


def test_an_old_torch_is_named_and_left_alone(pip, monkeypatch, capsys):
    here = hosted.installed
    monkeypatch.setattr(hosted, "installed", lambda n: "2.9.1+cu126" if n == "torch" else here(n))
    assert hosted.main() == 0 and pip == []
    assert "torch 2.9.1+cu126 is here, the course wants 2.11" in capsys.readouterr().out


def test_the_cell_to_paste_is_the_same_in_the_index_and_the_readme():
    cells = json.loads(INDEX.read_text(encoding="utf-8"))["cells"]
    (text,) = ["".join(cell["source"]) for cell in cells if cell["id"] == "hosted"]
    cell = re.search(r"```python\n.*?```", text, re.S)[0]
    assert cell in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "tools/hosted.py" in cell
