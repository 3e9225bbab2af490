"""Importing the course costs little until something is used."""

import subprocess
import sys

from course_utils.core.files import ROOT

LIGHT = ["notebook_ranks", "course_utils.core.timing", "course_utils.core.evidence",
         "course_utils.core.gpus", "course_utils.figures.compare", "course_utils.lesson.exercises",
         "course_utils.lesson.start"]  # fmt: skip
CODE = """
import sys
from importlib import import_module

def loaded(*heavy):
    return [name for name in heavy if name in sys.modules]

import_module("course_utils")
print("course_utils", loaded("torch", "numpy", "matplotlib", "ipywidgets"))
for module in sys.argv[1:]:
    import_module(module)
    print(module, loaded("torch"))
"""


def test_importing_the_library_loads_nothing_heavy_and_its_modules_no_torch():
    done = subprocess.run([sys.executable, "-c", CODE, *LIGHT], cwd=ROOT, capture_output=True)
    assert done.stdout.decode().splitlines() == [f"{name} []" for name in ["course_utils", *LIGHT]]
