"""Everything in course_utils that needs no torch is tested on the Python farthest from this one.

The workflow runs all tests on each of the three.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils.core.files import ROOT, python_path
from tests.install.test_install import REQUIRED

PACKAGES = (
    "numpy", "matplotlib", "pillow", "ipython", "ipywidgets", "anywidget", "pytest",
    "pytest-xdist", "psutil", "sortedcontainers", "msgspec",
)  # fmt: skip
FARTHEST = "3.11" if sys.version_info >= (3, 13) else "3.13"
pytestmark = pytest.mark.thorough(
    "requirements.txt", "pyproject.toml", "course_utils/core", "course_utils/judging"
)


def find_python(version: str) -> str | None:
    """An interpreter of a version such as "3.12" that runs: on the path, or pyenv's, or None."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    for candidate in (shutil.which(f"python{version}"), *map(str, reversed(installed))):
        if candidate and subprocess.run([candidate, "-V"], capture_output=True).returncode == 0:
            return candidate
    return None


def without_torch():
    """The test files that say they need no torch: the others can't be imported without it."""
    says_so = re.compile(r"^pytestmark = .*\bwithout_torch\b", re.M)
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path) for path in files if says_so.search(path.read_text())]


def test_the_library_without_torch(tmp_path):
    interpreter = find_python(FARTHEST)
    if interpreter is None:
        pytest.skip(f"no Python {FARTHEST} on this machine")
    python, uv = str(tmp_path / "venv" / "bin" / "python"), [sys.executable, "-m", "uv"]
    pins = [f"{name}=={REQUIRED[name]}" for name in PACKAGES]
    tests = ["-p", "no:cacheprovider", "--confcutdir=tests", *without_torch()]
    for command in (
        [*uv, "venv", "--python", interpreter, str(tmp_path / "venv")],
        [*uv, "pip", "install", "--python", python, *pins],
        [python, "-m", "pytest", *tests],
    ):
        own = {**os.environ, "PYTHONPATH": python_path()}
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=own)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "passed" in done.stdout


def test_an_older_python_gets_a_sentence_from_the_library_too():
    older = find_python("3.10") or find_python("3.9")
    if older is None:
        pytest.skip("no older Python here")
    done = subprocess.run([older, "-m", "course_utils", "doctor"], cwd=ROOT, capture_output=True)
    assert b"needs Python 3.11 or newer" in done.stderr
