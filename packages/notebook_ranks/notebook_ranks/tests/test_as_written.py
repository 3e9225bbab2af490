"""Cells as their authors write them: what Python and IPython give a program, a rank gives too."""

import sys

import pytest
import torch

import notebook_ranks as ranks
from notebook_ranks.tests.torchrun import free_port


@pytest.fixture
def heard(said):
    """Runs a cell on two ranks, and gives what rank 1 said there."""

    def hear(source, **options):
        lines = said(source, 2, **options).splitlines()
        return "\n".join(line.removeprefix("[rank 1] ") for line in lines if "[rank 1]" in line)

    return hear


def test_arguments_are_those_of_the_option_and_none_without(heard):
    parser = "import argparse\nparser = argparse.ArgumentParser()\n"
    parser += "parser.add_argument('--epochs', type=int, default=1)\nparser.parse_args().epochs"
    assert heard(parser, argv=["--epochs", "3"]) == "3"
    assert heard(parser) == "1"


def test_a_main_block_runs_and_an_end_with_status_0_is_none_of_failure(heard, failing):
    cell = "import sys\nif __name__ == '__main__':\n    print('main')\n    sys.exit(0)"
    assert heard(cell) == "main"
    assert "SystemExit: 2" in failing("import sys\nsys.exit(2)")


def test_the_source_of_a_function_and_of_a_class_is_found(heard):
    heard("import inspect\nclass Net(torch.nn.Module):\n    depth = 3\n\ndef f(x):\n    return x")
    assert heard("print(inspect.getsource(Net) + inspect.getsource(f))") == (
        "class Net(torch.nn.Module):\n    depth = 3\ndef f(x):\n    return x"
    )
    assert heard("inspect.getsource(torch.nn.Linear)[:12]") == "'class Linear'"


def test_a_cell_with_a_store_on_a_port_may_be_run_again(heard, failing):
    cell = f"store = dist.TCPStore('127.0.0.1', {free_port()}, world_size, rank == 0)\n"
    cell += "store.set(f'from {rank}', str(rank))\nstore.get('from 0')"
    assert [heard(cell) for _ in range(3)] == ["b'0'"] * 3
    error = failing("if rank == 0:\n    other = dist.TCPStore('127.0.0.1', store.port, 1, True)")
    assert "This rank's own `store` still holds it: del store" in error


@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="this torch knows of GPUs")
def test_a_line_that_asks_for_a_gpu_is_told_that_there_is_none(failing):
    assert "asks for a GPU, and torch has none here" in failing("torch.cuda.set_device(rank)", 2)


@pytest.mark.parametrize(
    "source, says",
    [
        ("!echo a program", "a program"),
        ("found = !echo one two\nfound[0].split()", "['one', 'two']"),
        ("%timeit -n 1 -r 1 rank", "per loop"),
        ("%%time\nx = rank + 40\nx", "41"),
        ("%matplotlib inline\nrank", "1"),
        ("%%bash\necho $RANK", "1"),
        ("x = 7 % 4\n%time x", "3"),
    ],
)
def test_ipythons_words_work_in_a_cell_of_ranks(heard, source, says):
    assert says in heard(source)


def test_what_fails_under_ipythons_words_fails_and_a_keyboard_is_not_there(tmp_path, failing):
    (tmp_path / "program.py").write_text("y = 5\n1 / 0\n")
    assert "ZeroDivisionError" in failing(f"%run {tmp_path}/program.py", 2)
    assert "ZeroDivisionError" in failing("%%time\ny = 5\n1 / 0")
    assert "`%nosuch` not found" in failing("%nosuch")
    assert "wants a keyboard" in failing("%debug")
    assert "ranks.push(answer=answer)" in failing("input('How many?')")


def test_a_name_that_only_the_notebook_has_is_told_with_how_to_give_it(monkeypatch, failing):
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "batch", [1, 2], raising=False)
    monkeypatch.setattr(main, "mathematics", sys, raising=False)
    assert "`batch` is the notebook's; ranks.push(batch=batch)" in failing("batch", 2)
    assert "import it in a %%ranks cell" in failing("mathematics.pi")
    assert failing("nobodys").endswith("still there.")


def test_a_cell_that_awaits_is_stopped_where_it_stands_and_goes_on_in_no_other_cell(heard, failing):
    slow = "event = asyncio.Event()\nasync def slow():\n    await event.wait()\n    print('late')\n"
    error = failing(f"import asyncio\n{slow}await slow()", 2, limit_seconds=2)
    assert "line 4: await event.wait()" in error
    assert heard("event.set()\nawait asyncio.sleep(0.5)\nprint('alone')") == "alone"


OUTER = "def outer(x):\n    return torch.utils._pytree.tree_map(inner, [x])\n\n"
INNER = "def inner(x):\n    return 1 / x"


def test_a_traceback_names_the_cell_of_each_line_and_folds_libraries(failing):
    ranks.run_cell(OUTER + INNER, 2, called="In [3]")
    error = failing("for x in (1, 0):\n    outer(x)", called="In [4]")
    assert error.splitlines()[:6] == [
        "✗ ranks 0 and 1, In [3], line 5: ZeroDivisionError: division by zero",
        "    5 | return 1 / x",
        "    line 2: outer(x)",
        "    In [3], line 2, in outer: return torch.utils._pytree.tree_map(inner, [x])",
        "    … 2 frames in torch",
        "    In [3], line 5, in inner: return 1 / x",
    ]


def test_a_traceback_has_its_causes_and_stays_short(failing):
    cell = "try:\n    {}['a']\nexcept KeyError as e:\n    raise RuntimeError('no') from e"
    assert failing(cell, 2).splitlines()[:4] == [
        "✗ ranks 0 and 1, line 4: RuntimeError: no",
        "    4 | raise RuntimeError('no') from e",
        "  caused by KeyError: 'a'",
        "    line 2: {}['a']",
    ]
    assert "while handling KeyError" in failing("try:\n    {}['a']\nexcept KeyError:\n    1 / 0")
    deep = failing("def down(n):\n    return up(n)\n\ndef up(n):\n    return down(n)\n\ndown(1)")
    assert "RecursionError" in deep and "more lines" in deep and deep.count("\n") < 20
    again = failing("def again(n):\n    return again(n)\n\nagain(1)")
    assert "times more" in again and again.count("\n") < 8
    assert failing("1 / 0").count("\n") == 2  # one line says it all
