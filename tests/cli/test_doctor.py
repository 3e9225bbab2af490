"""The doctor: it examines everything, and sums up what is to mend."""

import ast
import subprocess
import sys

import pytest

from course_utils.cli import doctor
from course_utils.core.files import ROOT


@pytest.mark.thorough("course_utils/cli/doctor.py", "course_utils/core/machine.py")
def test_the_doctor_examines_everything_and_finds_this_machine_well():
    command = [sys.executable, "-m", "course_utils", "doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for what in ("Python", "torch", "GPU", "gloo", "nccl", "jupyterlab", "fonts", "disk"):
        assert what in done.stdout
    assert "Every chapter runs here." in done.stdout


def test_the_doctor_sums_up_what_is_to_mend():
    findings = [
        doctor.Finding(True, "Python", "3.12"),
        doctor.Finding(False, "torch", "gone: make setup"),
    ]
    assert doctor.report(findings).endswith("To repair: torch.")


def test_no_message_of_the_doctor_holds_a_brace_that_should_have_been_filled_in():
    with open(doctor.__file__, encoding="utf-8") as file:
        nodes = ast.walk(ast.parse(file.read()))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    assert [text for text in texts if isinstance(text, str) and "{" in text] == []
