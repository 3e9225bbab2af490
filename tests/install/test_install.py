"""The two commands and the files behind them: versions that agree, sentences where it can't go."""

import ast
import re
import shutil
import subprocess
import sys

import pytest

from course_utils.core.files import ROOT
from tests.support.pythons import find_python

PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;]+)( ;.*)?$")


def pins(lines):
    found = [PIN.match(line.strip()) for line in lines]
    return {m[1]: m[2] + (m[3] or "") for m in found if m}


REQUIRED = pins((ROOT / "requirements.txt").read_text().splitlines())
CONDA = (ROOT / "environment.yml").read_text()


def test_every_line_of_requirements_is_an_exact_pin_and_torch_is_ours():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line]
    assert all(PIN.match(line) for line in lines if not line.startswith("#"))
    assert REQUIRED["torch"] == "2.13.0"
    assert not any(name.startswith(("nvidia", "cuda")) for name in REQUIRED)


def test_conda_gets_the_same_versions():
    inside = pins(line.strip().strip("-").strip().strip('"') for line in CONDA.splitlines())
    assert inside == {name: pin for name, pin in REQUIRED.items() if name != "d2l"}
    assert f"pip install --no-deps d2l=={REQUIRED['d2l']}" in CONDA


def test_what_is_installed_is_what_is_pinned():
    from importlib.metadata import version

    for name in ("torch", "numpy", "matplotlib", "jupyterlab", "nbval", "d2l", "torchvision"):
        assert version(name).split("+")[0] == REQUIRED[name]


def test_loose_bounds_admit_the_pins_and_the_gpu_machine():
    text = (ROOT / "pyproject.toml").read_text()
    assert 'requires-python = ">=3.11,<3.14"' in text
    assert '"torch>=2.11"' in text and '"numpy>=2"' in text


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_pins_have_wheels_for_this_python(version, tmp_path):
    """Resolves all pins as they are installed, without what they ask for; downloads nothing."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--no-deps", "--quiet"]
    where = ["--python-version", version, "--target", str(tmp_path), "-r", "requirements.txt"]
    only = ["--only-binary", ":all:"]
    done = subprocess.run([*command, *where, *only], cwd=ROOT, capture_output=True, text=True)
    if "error sending request" in done.stderr or "dns error" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr


def fake_project(tmp_path):
    """A folder with the set-up script, and requirements that need no network."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "setup.sh", tmp_path / "tools")
    (tmp_path / "requirements.txt").write_text("torch==0.0.0\n")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def setup(folder, **environment):
    command = ["sh", "tools/setup.sh"]
    path = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(command, cwd=folder, env=path, capture_output=True, text=True)


def test_a_missing_python_gets_a_sentence(tmp_path):
    done = setup(fake_project(tmp_path), PYTHON="/no/such/python")
    assert done.returncode == 1
    assert "PYTHON=/no/such/python is not a Python 3.11, 3.12 or 3.13" in done.stderr


def test_a_python_too_old_gets_a_sentence_that_says_what_to_install(tmp_path):
    folder = fake_project(tmp_path)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("python3", "python3.13", "python3.12", "python3.11", "python"):
        (tools / name).write_text(
            '#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.9.1" && exit\nexit 1\n'
        )
        (tools / name).chmod(0o755)
    done = setup(folder, PATH=f"{tools}:/usr/bin:/bin")
    assert done.returncode == 1
    assert "needs Python 3.11, 3.12 or 3.13" in done.stderr and "Python 3.9.1" in done.stderr
    assert "Install one" in done.stderr
    assert not (folder / ".venv").exists()


def test_a_failed_installation_says_so_and_is_not_taken_for_done(tmp_path):
    folder = fake_project(tmp_path)
    done = setup(folder, PYTHON=sys.executable, PIP_NO_INDEX="1")
    assert done.returncode == 1
    assert "Installing torch==0.0.0 failed" in done.stderr
    assert not (folder / ".venv" / "course-stamp").exists()


def test_an_up_to_date_environment_is_left_alone():
    if not (ROOT / ".venv" / "course-stamp").exists():
        pytest.skip("the tests run from another environment than .venv")
    done = subprocess.run(["sh", "tools/setup.sh"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


def test_an_older_python_gets_a_sentence_from_the_library_too():
    older = find_python("3.10") or find_python("3.9")
    if older is None:
        pytest.skip("no older Python here")
    done = subprocess.run([older, "-m", "course_utils", "doctor"], cwd=ROOT, capture_output=True)
    assert b"needs Python 3.11 or newer" in done.stderr


def test_a_folder_that_was_moved_gets_a_new_environment(tmp_path):
    folder = fake_project(tmp_path)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "course-stamp").write_text("/elsewhere\nsums")
    done = setup(folder, PYTHON=sys.executable, PIP_NO_INDEX="1")
    assert "This folder was moved or copied" in done.stderr
    assert not (folder / ".venv" / "course-stamp").exists()


FOLDERS = [path.parent.name for path in (ROOT / "course_utils").glob("*/__init__.py")]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_folder_of_the_library_stands_where_a_newcomer_looks_for_it(page):
    text = (ROOT / page).read_text()
    assert [name for name in sorted(FOLDERS) if not re.search(f"`{name}[`/]", text)] == []


def test_every_module_of_the_library_begins_with_a_sentence_on_what_it_is_for():
    first = {
        path.name: (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0]
        for path in (ROOT / "course_utils").rglob("*.py")
    }
    assert [name for name, said in first.items() if not said.endswith((".", ":", "?"))] == []
