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
