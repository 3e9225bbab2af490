"""`make oldest`: the torch that pyproject.toml promises, in an environment of its own."""

import pytest

from course_utils.core.files import ROOT
from tools import oldest
from tools.kit import choose


def test_torch_chooses_first_and_the_rest_is_pinned_and_a_second_run_installs_nothing(
    tmp_path, monkeypatch
):
    asked = []

    def install(python, *what):
        python.parent.mkdir(parents=True, exist_ok=True)
        asked.append(what)

    monkeypatch.setattr(oldest, "VENV", tmp_path / "venv")
    monkeypatch.setattr(oldest, "install", install)
    monkeypatch.setattr(oldest.subprocess, "run", lambda *_, **__: None)
    torch = choose.oldest("torch")
    assert f'"torch>={torch}"' in (ROOT / "pyproject.toml").read_text()
    for _ in range(2):
        oldest.environment(torch)
    first, rest = asked
    assert first == (f"torch=={torch}", "torchvision", "numpy>=2.5 ; python_version >= '3.12'")
    assert rest[0] == "--no-deps" and any(one.startswith("ipykernel==") for one in rest)
    assert not any(one.split("==")[0] in oldest.CHOSEN_BY_TORCH for one in rest)
    with pytest.raises(oldest.OldestError, match="is no Python that runs"):
        oldest.require_torch("/no/python", torch)
