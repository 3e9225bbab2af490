"""d2l is a guest that feels at home: after `start`, a cell imports it as its book writes it."""

import subprocess
import sys

import pytest

from course_utils import ranks
from course_utils.core.files import ROOT
from course_utils.lesson.start import PREPARE_RANKS
from course_utils.ranks.engine import wire
from course_utils.ranks.session import START
from tests.support.kernels import Kernel

WELCOME = "from course_utils.workloads.d2l_guest import welcome\nwelcome()\n"
TIMER = "from d2l import torch as d2l\nd2l.Timer().stop() >= 0"


def run(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_d2l_loads_without_a_warning_and_its_transforms_datasets_and_models_work():
    code = """
from d2l import torch as d2l
import torch, torchvision
image = torchvision.transforms.Resize(4)(torch.zeros(3, 8, 8))
data = torchvision.datasets.FakeData(2, (3, 8, 8))
model = torchvision.models.resnet18()
print(d2l.Timer().stop() >= 0, tuple(image.shape), len(data))
print(model(torch.zeros(1, 3, 64, 64)).shape)
"""
    assert run(WELCOME + code) == "True (3, 4, 4) 2\ntorch.Size([1, 1000])\n"


def test_until_somebody_imports_it_nothing_is_loaded():
    code = "import sys\nprint({'torch', 'd2l', 'torchvision'} & set(sys.modules))"
    assert run(WELCOME + WELCOME + code) == "set()\n"


MISSING = {
    "not installed": "sys.path[:] = [p for p in sys.path if 'packages' not in p]",
    "broken": "sys.modules['torchvision'] = None",
}


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
        kernel.run("from course_utils import start\nstart('12', times=False)")
        found = kernel.run(TIMER)
        assert (found.text, found.error) == ("True", "")
        found = kernel.cell(TIMER, "1 --timeout 200")
        assert found.text.endswith("[rank 0] True\n") and not found.error
    finally:
        kernel.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no ranks there")
def test_ranks_that_are_new_pythons_have_it_too(monkeypatch, capsys):
    monkeypatch.setenv(START, "spawn")
    monkeypatch.setenv(PREPARE_RANKS, "course_utils.workloads.d2l_guest:welcome")
    ranks.stop()
    try:
        ranks.run_cell(TIMER, 1, limit_seconds=200)
    finally:
        ranks.stop()
    assert capsys.readouterr().out.endswith("[rank 0] True\n")


def test_what_start_sets_is_what_ranks_read():
    assert PREPARE_RANKS == wire.PREPARE
