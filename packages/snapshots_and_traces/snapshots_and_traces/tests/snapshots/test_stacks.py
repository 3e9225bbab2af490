"""Who asked, told from a call stack."""

import pytest

from snapshots_and_traces.snapshots.stacks import Frame, path, who

pytestmark = pytest.mark.without_torch


def test_stacks_without_python_name_the_backward_function_and_the_operator():
    native = ["c10::malloc()", "at::_ops::empty::call(x)", "at::_ops::sum_dim::call(x)",
              "torch::autograd::generated::MulBackward0::apply(x)", "__clone"]  # fmt: skip
    stack = tuple(Frame(name, "??", 0) for name in native)
    assert who(stack) == "backward, MulBackward0"
    assert path(stack) == ["backward, MulBackward0", "at::sum_dim"]
    own, library = Frame("fit", "/me/train.py", 3), Frame("step", "/x/site-packages/torch/a.py", 9)
    assert who((stack[0], library, own)) == "fit, train.py:3"
    assert path((*stack[:2], library, own)) == ["fit, train.py:3", "step, a.py:9", "at::empty"]


@pytest.mark.parametrize("file, own, label", [
    ("/home/me/learn-torch/train.py", True, "fit, train.py:3"),
    ("C:\\Users\\me\\learn-torch\\train.py", True, "fit, train.py:3"),
    ("/home/me/my_runpy.py", True, "fit, my_runpy.py:3"),
    ("/tmp/ipykernel_77/4258440433.py", True, "fit, cell:3"),
    ("C:\\Temp\\ipykernel_77\\42.py", True, "fit, cell:3"),
    ("/x/site-packages/torch/a.py", False, "fit, a.py:3"),
    ("C:\\x\\Lib\\site-packages\\a\\b.py", False, "fit, b.py:3"),
    ("/usr/lib/python3.11/runpy.py", False, "fit, runpy.py:3"),
    ("c10/cuda/a.cpp", False, "fit"),
])  # fmt: skip
def test_a_path_tells_whose_code_it_is_and_its_label_on_linux_and_windows(file, own, label):
    frame = Frame("fit", file, 3)
    assert (frame.is_own, str(frame)) == (own, label)
