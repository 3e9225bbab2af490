"""The doctor: it examines everything, and sums up what is to mend."""

import subprocess
import sys

from course_utils.cli.doctor import Finding, report
from course_utils.core.files import ROOT


def test_the_doctor_examines_everything_and_finds_this_machine_well():
    done = subprocess.run(
        [sys.executable, "-m", "course_utils", "doctor"],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for what in ("Python", "torch", "GPU", "gloo", "nccl", "jupyterlab", "fonts", "disk", "d2l"):
        assert what in done.stdout
    assert "Every chapter runs here." in done.stdout


def test_the_doctor_sums_up_what_is_to_mend():
    findings = [Finding(True, "Python", "3.12"), Finding(False, "torch", "gone: make setup")]
    assert report(findings).endswith("To mend: torch.")
