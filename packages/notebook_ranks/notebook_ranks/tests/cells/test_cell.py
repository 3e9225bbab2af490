"""What a rank runs of the notebook, and whose names it may touch."""

import functools
import types

import pytest
import torch

from notebook_ranks.cells import cell

PLAIN = "def look(*_):\n    return rank, kept, helper()\ndef helper():\n    return rank + 10"


@pytest.mark.parametrize("wrap", [
    lambda f: f, functools.partial, torch.no_grad(), lambda f: types.MethodType(f, 1),
], ids=["plain", "partial", "no_grad", "method"])  # fmt: skip
def test_a_function_of_the_notebook_has_the_ranks_names_however_it_is_wrapped(wrap):
    module = types.ModuleType("nobodys")  # its code is sent: a rank can't find such a module
    vars(module).update(__name__="__main__")
    exec(PLAIN, vars(module))
    found = cell.call(cell.pack(({}, wrap(module.look), (), {})), {"rank": 3, "kept": 4})
    assert cell.unpack(found) == (3, 4, 13)
