"""Importing the course costs little until something is used."""

import subprocess
import sys

import pytest

from course_utils.core.files import ROOT

LIGHT = ["", ".ranks", ".core.timing", ".core.evidence", ".core.gpus", ".figures.compare",
         ".lesson.exercises", ".lesson.start", ".workloads.d2l_guest"]  # fmt: skip


def run(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()


@pytest.mark.parametrize("module", LIGHT)
def test_importing_a_module_loads_no_torch(module):
    assert run(f"import sys, course_utils{module}; print('torch' in sys.modules)") == "False"


def test_importing_the_library_is_quick():
    code = """
import time
start = time.perf_counter()
import course_utils
print(time.perf_counter() - start < 0.2)
"""
    assert run(code) == "True"
