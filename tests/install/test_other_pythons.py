"""Everything in course_utils that needs no torch is tested on the Python farthest from this one.

The workflow runs all tests on each of the three.
"""

import os
import re
import subprocess
import sys

import pytest

from course_utils.core.files import ROOT
from tests.install.test_install import REQUIRED
from tests.support.pythons import find_python

PACKAGES = (
    "numpy", "matplotlib", "pillow", "ipython", "ipywidgets", "anywidget", "pytest",
    "pytest-xdist", "psutil",
)  # fmt: skip
FARTHEST = "3.11" if sys.version_info >= (3, 13) else "3.13"


def uv(*arguments, **options):
    command = [sys.executable, "-m", "uv", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)


def without_torch():
    """The test files that say they need no torch: the others can't be imported without it."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    says_so = re.compile(r"^pytestmark = .*\bwithout_torch\b", re.M)
    return [str(path) for path in files if says_so.search(path.read_text())]


def test_the_library_without_torch(tmp_path):
    interpreter = find_python(FARTHEST)
    if interpreter is None:
        pytest.skip(f"no Python {FARTHEST} on this machine")
    environment = tmp_path / "venv"
    made = uv("venv", "--python", interpreter, str(environment))
    assert made.returncode == 0, made.stderr
    python = environment / "bin" / "python"
    pins = [f"{name}=={REQUIRED[name]}" for name in PACKAGES]
    installed = uv("pip", "install", "--python", str(python), *pins)
    assert installed.returncode == 0, installed.stderr
    tests = ["-p", "no:cacheprovider", "--confcutdir=tests", *without_torch()]
    done = subprocess.run(
        [python, "-m", "pytest", *tests],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout
