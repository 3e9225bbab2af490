"""A hosted notebook: what is missing or too old is installed, torch stays, no GPU is said."""

import json
import re
import subprocess

import pytest

from course_utils.core.files import INDEX, ROOT
from tools import hosted


@pytest.mark.parametrize(
    "changed, asked, says",
    [
        ({}, [], "Nothing was missing."),
        ({}, [], "This runtime has no GPU. Every chapter runs all the same"),
        ({"gfloat": None, "anywidget": None}, ["gfloat>=0.5", "anywidget"], "Installed gfloat>=0"),
        (
            {"torchao": "0.10.0", "ipywidgets": "7.7.1"},
            ["torchao>=0.18"],
            "Installed torchao>=0.18.",
        ),
        ({"torch": "2.9.1+cu126"}, [], "torch 2.9.1+cu126 is here, the course wants 2.11"),
    ],
)
def test_what_is_missing_or_too_old_is_installed_beside_the_torch_that_is_there(
    changed, asked, says, monkeypatch, capsys
):
    """`changed` says which packages are another version there, or missing."""
    here, commands = hosted.installed, []

    def pretend(command, **_):
        with open(command[command.index("--constraint") + 1]) as file:
            pins = file.read()
        assert f"torch=={here('torch')}\n" in pins and not set(asked) & {"torch", "ipywidgets"}
        assert not any(f"{word.partition('>')[0]}==" in pins for word in asked)
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(hosted, "installed", lambda n: changed[n] if n in changed else here(n))
    monkeypatch.setattr(hosted.subprocess, "run", pretend)
    monkeypatch.setattr(hosted.os.path, "exists", lambda path: False)
    monkeypatch.setattr(hosted.shutil, "which", lambda name: None)
    assert hosted.main() == 0
    assert [word for one in commands for word in one[-len(asked) :]] == asked
    assert says in capsys.readouterr().out


def test_the_cell_to_paste_is_the_same_in_the_index_and_the_docs():
    cells = json.loads(INDEX.read_text(encoding="utf-8"))["cells"]
    (text,) = ["".join(cell["source"]) for cell in cells if cell["id"] == "hosted"]
    cell = re.search(r"```python\n.*?```", text, re.S)[0]
    assert "tools/hosted.py" in cell and cell in (ROOT / "docs" / "hosted.md").read_text(
        encoding="utf-8"
    )
