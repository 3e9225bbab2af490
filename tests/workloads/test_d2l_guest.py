"""d2l is a guest: it loads where it is, and where it isn't the rest goes on."""

import subprocess
import sys

import pytest

from course_utils.core.files import ROOT
from course_utils.workloads import d2l_guest


def run(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_d2l_loads_and_its_transforms_datasets_and_models_work():
    code = """
from course_utils.workloads.d2l_guest import load_d2l
d2l = load_d2l()
import torch, torchvision
image = torchvision.transforms.Resize(4)(torch.zeros(3, 8, 8))
data = torchvision.datasets.FakeData(2, (3, 8, 8))
model = torchvision.models.resnet18()
print(d2l.Timer().stop() >= 0, tuple(image.shape), len(data))
print(model(torch.zeros(1, 3, 64, 64)).shape)
"""
    assert run(code).endswith("True (3, 4, 4) 2\ntorch.Size([1, 1000])\n")


def test_loading_it_twice_is_quick_and_the_same():
    code = """
import time
from course_utils.workloads.d2l_guest import load_d2l
first = load_d2l(); start = time.perf_counter(); second = load_d2l()
print(first is second, time.perf_counter() - start < 0.1)
"""
    assert "True True" in run(code)


def test_without_d2l_there_is_one_sentence_and_no_error(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "d2l", None)
    monkeypatch.delitem(sys.modules, "d2l.torch", raising=False)
    monkeypatch.setattr(d2l_guest, "_absent", lambda package: True)
    assert d2l_guest.load_d2l() is None
    assert capsys.readouterr().out.strip() == d2l_guest.HOW_TO_INSTALL


@pytest.mark.parametrize(
    "room",
    ["", ".core.timing", ".core.evidence", ".figures.compare", ".lesson.exercises", ".core.gpus"],
)
def test_importing_a_room_loads_no_torch(room):
    assert run(f"import sys, course_utils{room}; print('torch' in sys.modules)").strip() == "False"


def test_importing_the_library_is_quick():
    code = """
import time
start = time.perf_counter()
import course_utils
print(time.perf_counter() - start < 0.2)
"""
    assert run(code).strip() == "True"
