"""What a rank runs of the notebook, and whose names it may touch."""

import functools
import sys
import types

import pytest
import torch

from course_utils.ranks.cells import cell

OWN = {"rank": 3, "kept": 4}


def of_notebook(source, **known):
    """A function whose code is sent, for want of a module where a rank could find it."""
    module = types.ModuleType("nobodys")
    vars(module).update(known, __name__="__main__")
    exec(source, vars(module))
    return module.look


def called(function, *args):
    return cell.unpack(cell.call(cell.pack(({}, function, args, {})), dict(OWN)))


PLAIN = "def look(*_):\n    return rank, kept, helper()\ndef helper():\n    return rank + 10"


@pytest.mark.parametrize("wrap", [
    lambda f: f, functools.partial, torch.no_grad(),
    lambda f: types.MethodType(f, 1),
], ids=["plain", "partial", "no_grad", "method"])  # fmt: skip
def test_a_function_of_the_notebook_has_the_ranks_names_however_it_is_wrapped(wrap):
    assert called(wrap(of_notebook(PLAIN))) == (3, 4, 13)


def test_no_module_gets_a_name_by_a_call(monkeypatch, tmp_path):
    (tmp_path / "users.py").write_text(
        "import torch\n@torch.no_grad()\ndef decorated():\n    return 1\n"
        "def plain():\n    return 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    users = __import__("users")
    before = {name: set(vars(module)) for name, module in list(sys.modules.items())}
    assert called(users.decorated) == 1 and called(users.plain) == 2
    assert called(torch.ones, 2).tolist() == [1, 1]
    gained = {n: set(vars(sys.modules[n])) & set(OWN) - held for n, held in before.items()}
    assert not any(gained.values())
