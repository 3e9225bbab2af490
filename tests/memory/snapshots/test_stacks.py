"""Who asked, told from a call stack."""

import pytest

from course_utils.memory.snapshots.stacks import Frame, path, who

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


@pytest.mark.parametrize("file, own", [
    ("/home/me/learn-torch/train.py", True), ("C:\\Users\\me\\learn-torch\\train.py", True),
    ("/home/me/my_runpy.py", True), ("torch/nn/modules/module.py", False),
    ("/x/site-packages/torch/a.py", False), ("C:\\x\\Lib\\site-packages\\a\\b.py", False),
    ("/usr/lib/python3.11/runpy.py", False), ("c10/cuda/a.cpp", False),
])  # fmt: skip
def test_a_path_tells_whose_code_it_is_on_linux_and_windows(file, own):
    assert Frame("f", file, 3).is_own == own


def test_a_windows_path_leaves_only_the_file_in_a_label():
    assert str(Frame("fit", "C:\\Users\\me\\train.py", 3)) == "fit, train.py:3"


def test_a_notebooks_cell_is_named_as_one():
    assert str(Frame("fit", "/tmp/ipykernel_77/4258440433.py", 3)) == "fit, cell:3"
    assert str(Frame("fit", "C:\\Temp\\ipykernel_77\\42.py", 3)) == "fit, cell:3"
    assert str(Frame("fit", "ipykernel_77/42.py", 3)) == "fit, cell:3"
    assert Frame("fit", "/tmp/ipykernel_77/4258440433.py", 3).is_own
