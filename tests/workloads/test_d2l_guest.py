"""d2l is a guest that feels at home: after `start`, a cell imports it as its book writes it."""

import subprocess
import sys

import pytest

from course_utils.core.files import ROOT
from notebook_ranks.tests.kernels import Kernel

WELCOME = "from course_utils.workloads.d2l_guest import welcome\nwelcome()\nwelcome()\n"
TIMER = "from d2l import torch as d2l\nd2l.Timer().stop() >= 0"
USES = """
import sys
print({'torch', 'd2l', 'torchvision'} & set(sys.modules))
from d2l import torch as d2l
import torch, torchvision
image = torchvision.transforms.Resize(4)(torch.zeros(3, 8, 8))
print(d2l.Timer().stop() >= 0, tuple(image.shape))
print(torchvision.models.resnet18()(torch.zeros(1, 3, 64, 64)).shape)
"""
MISSING = {
    "not installed": "sys.path[:] = [p for p in sys.path if 'packages' not in p]",
    "broken": "sys.modules['torchvision'] = None",
}


def run(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_it_loads_when_it_is_imported_without_a_warning_and_torchvision_works():
    assert run(WELCOME + USES) == "set()\nTrue (3, 4, 4)\ntorch.Size([1, 1000])\n"


@pytest.mark.parametrize("how", MISSING)
def test_without_d2l_its_import_says_what_to_do(how):
    code = f"import sys\n{MISSING[how]}\ntry:\n    from d2l import torch as d2l\n"
    said = run(f"{WELCOME}{code}except ImportError as missing:\n    print(missing)")
    assert said.startswith("d2l isn't installed (or not whole), so its part is skipped")
    assert "pip install --no-deps -r requirements.txt" in said


@pytest.mark.skipif(sys.platform != "linux", reason="a kernel as Linux starts it")
def test_after_start_any_cell_may_import_it_and_ranks_cells_too():
    kernel = Kernel()
    try:
        kernel.run("from course_utils import start\nstart('12')")
        found = kernel.run(TIMER)
        assert (found.text, found.error) == ("True", "")
        found = kernel.cell(TIMER, "1 --timeout 200")
        assert found.text.endswith("[rank 0] True\n") and not found.error
    finally:
        kernel.close()
