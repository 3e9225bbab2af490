"""`make oldest`: the torch that pyproject.toml promises, in an environment of its own."""

import sys

import pytest

from course_utils.core.files import ROOT
from tools import oldest
from tools.kit import choose


def test_the_oldest_torch_is_the_one_that_pyproject_promises():
    assert f'"torch>={choose.oldest("torch")}"' in (ROOT / "pyproject.toml").read_text()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """What pip would have been asked, in an environment that isn't there."""
    asked = []

    def install(python, *what):
        python.parent.mkdir(parents=True, exist_ok=True)
        asked.append(what)

    monkeypatch.setattr(oldest, "VENV", tmp_path / "venv")
    monkeypatch.setattr(oldest, "install", install)
    monkeypatch.setattr(oldest.subprocess, "run", lambda *_, **__: None)
    return asked


def test_torch_chooses_first_and_the_rest_is_pinned_and_a_second_run_installs_nothing(
    installed, capsys
):
    oldest.environment("2.11")
    first, rest = installed
    assert first == ("torch==2.11", "torchvision", "numpy>=2.5 ; python_version >= '3.12'")
    assert rest[0] == "--no-deps" and any(one.startswith("ipykernel==") for one in rest)
    assert not any(one.split("==")[0] in oldest.CHOSEN_BY_TORCH for one in rest)
    assert "of downloads, 5.6 GB on the disk" in capsys.readouterr().out
    oldest.environment("2.11")
    assert len(installed) == 2
    oldest.environment("2.12")
    assert len(installed) == 4


def test_another_torch_than_the_oldest_is_a_sentence():
    with pytest.raises(oldest.OldestError, match=r"is not the torch 2\.1 that .* torch 2\.\d\d"):
        oldest.require_torch(sys.executable, "2.1")
    with pytest.raises(oldest.OldestError, match="is no Python that runs"):
        oldest.require_torch("/no/python", "2.11")


def test_a_chapter_is_run_with_its_solutions():
    name = "notebooks/{}06_floating_point_formats.ipynb"
    assert oldest.pages("06") == [name.format(""), name.format("solutions/")]
    assert oldest.pages(None) == ["notebooks"] == oldest.pages("")
