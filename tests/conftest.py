"""Fixtures that the tests share."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from course_utils.core import evidence, files, machine
from course_utils.core import recording as keeping
from tests.support.recordings import CHAPTER, DECLARED, FIVE


@pytest.fixture
def fake_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., machine.Machine]]:
    """Makes every room believe in another machine: `fake_machine(gpus=2)`."""

    def pretend(gpus: int = 0, cores: int = 2, gpu: str = "NVIDIA H200") -> machine.Machine:
        made = machine.Machine(
            system="Linux x86_64",
            processor="A processor",
            cores=cores,
            memory_bytes=25_000_000_000,
            gpus=(machine.GPU(gpu, 141_000_000_000, (9, 0)),) * gpus,
            driver="580.0" if gpus else None,
            versions={"python": "3.12.0", "torch": "2.11.0", "numpy": "2.5.0"},
            hidden_gpus=None,
        )
        for name, fake in (("this_machine", lambda: made), ("physical_cores", lambda: cores)):
            for room in _rooms_with(name):
                monkeypatch.setattr(room, name, fake)
        return made

    real = {name: getattr(machine, name) for name in ("this_machine", "physical_cores")}
    yield pretend
    for name, value in real.items():  # also in rooms that were imported meanwhile
        for room in _rooms_with(name):
            setattr(room, name, value)


def _rooms_with(name: str) -> list[ModuleType]:
    """The modules of the library that were imported until now and have such a name."""
    return [
        room
        for path, room in list(sys.modules.items())
        if path.startswith("course_utils.") and name in vars(room)
    ]


@pytest.fixture
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder with one chapter that declares the experiments `speed` and `claims`."""
    declared = {
        "02_async_execution": {
            "speed": {"version": 2, "columns": ["what", "run_seconds"]},
            "claims": {"version": 1, "columns": ["id", "claim", "needs", "held"]},
        }
    }
    (tmp_path / "experiments.json").write_text(json.dumps(declared))
    (tmp_path / "published.json").write_text((files.DATA / "published.json").read_text())
    monkeypatch.setattr(files, "DATA", tmp_path)
    monkeypatch.setattr(files, "RECORDED", tmp_path / "recorded")
    monkeypatch.setenv(evidence.CHAPTER, "02_async_execution")
    evidence.experiments.cache_clear()
    yield tmp_path
    evidence.experiments.cache_clear()


@pytest.fixture
def recording(own_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, with recording switched on into its `recorded` folder."""
    monkeypatch.setenv(keeping.RECORD_TO, str(own_data / "recorded"))
    return own_data / "recorded"


@pytest.fixture
def keep(
    recording: Path,
    fake_machine: Callable[..., machine.Machine],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Path]:
    """Records rows of an experiment as `make record` does on an H200; gives the file."""
    fake_machine(gpus=1)
    monkeypatch.setattr(keeping, "code_of", lambda *_: "c0dec0dec0de")
    monkeypatch.setattr(keeping, "_commit", lambda: "0123456789" * 4)
    declared = {name: {"version": 2, "columns": columns} for name, columns in DECLARED.items()}
    evidence.experiments()[CHAPTER].update(declared)

    def kept(experiment: str = "speed", rows: Any = ({"what": "a", "run_seconds": FIVE},)) -> Path:
        keeping.record(experiment, rows)
        (path,) = recording.glob(f"*/*/{experiment}.json")
        return path

    return kept
