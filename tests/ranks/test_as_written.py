"""Cells as their authors write them: what Python and IPython give a program, a rank gives too."""

import sys

import pytest

from course_utils import ranks
from tests.support.torchrun import free_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")


@pytest.fixture(scope="module", autouse=True)
def two():
    ranks.start(2)
    yield
    ranks.stop()


@pytest.fixture
def heard(capsys):
    """Runs a cell on rank 1 of the two, and gives what it said there."""

    def hear(source, **options):
        capsys.readouterr()
        ranks.run_cell(source, **options)
        lines = capsys.readouterr().out.splitlines()
        return "\n".join(line.removeprefix("[rank 1] ") for line in lines if "[rank 1]" in line)

    return hear


def failing(source, **options):
    with pytest.raises(ranks.RankError) as error:
        ranks.run_cell(source, **options)
    return str(error.value)


PARSER = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
print(parser.parse_args().epochs)
"""


def test_arguments_are_those_of_the_option_and_none_without(heard):
    assert heard(PARSER, argv=["--epochs", "3"]) == "3"
    assert heard(PARSER) == "1"


def test_a_main_block_runs_and_an_end_with_status_0_is_none_of_failure(heard):
    assert (
        heard("import sys\nif __name__ == '__main__':\n    print('main')\n    sys.exit(0)")
        == "main"
    )
    assert "SystemExit: 2" in failing("import sys\nsys.exit(2)")


def test_await_may_stand_anywhere_and_what_waits_lives_on(heard):
    heard("import asyncio\nasync def late(x):\n    await asyncio.sleep(0.01)\n    return x")
    heard("task = asyncio.ensure_future(late(7)) if await late(1) else None")
    assert heard("print(await late(rank))\nawait task") == "1\n7"


def test_the_source_of_a_function_and_of_a_class_is_found(heard):
    heard("import inspect\nclass Net(torch.nn.Module):\n    depth = 3\n\ndef f(x):\n    return x")
    assert heard("print(inspect.getsource(Net) + inspect.getsource(f))") == (
        "class Net(torch.nn.Module):\n    depth = 3\ndef f(x):\n    return x"
    )
    assert heard("inspect.getsource(torch.nn.Linear)[:12]") == "'class Linear'"


def test_a_cell_with_a_store_on_a_port_may_be_run_again(heard):
    cell = f"store = dist.TCPStore('127.0.0.1', {free_port()}, world_size, rank == 0)\n"
    cell += "store.set(f'from {rank}', str(rank))\nstore.get('from 0')"
    assert [heard(cell) for _ in range(3)] == ["b'0'"] * 3
    said = failing("if rank == 0:\n    other = dist.TCPStore('127.0.0.1', store.port, 1, True)")
    assert "This rank's own `store` still holds it: del store" in said


def test_asking_the_reader_says_how_to_ask():
    assert "ranks.push(answer=answer)" in failing("input('How many?')")


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


def test_what_fails_under_ipythons_words_fails_and_a_keyboard_is_not_there(tmp_path):
    (tmp_path / "program.py").write_text("y = 5\n1 / 0\n")
    assert "ZeroDivisionError" in failing(f"%run {tmp_path}/program.py")
    assert "ZeroDivisionError" in failing("%%time\ny = 5\n1 / 0")
    assert "`%nosuch` not found" in failing("%nosuch")
    assert "wants a keyboard" in failing("%debug")


def test_a_cell_without_such_words_makes_no_shell(heard):
    ranks.restart()
    assert heard("import sys\n'IPython.core.interactiveshell' in sys.modules") == "False"


def test_a_name_that_only_the_notebook_has_is_told_with_how_to_give_it(monkeypatch):
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "batch", [1, 2], raising=False)
    monkeypatch.setattr(main, "mathematics", sys, raising=False)
    assert "`batch` is the notebook's; ranks.push(batch=batch)" in failing("batch")
    assert "import it in a %%ranks cell" in failing("mathematics.pi")
    assert failing("nobodys").endswith("still there.")


def test_a_cell_that_awaits_is_stopped_where_it_stands_and_goes_on_in_no_other_cell(heard):
    slow = "async def slow():\n    await asyncio.sleep(2.5)\n    print('late')\n"
    said = failing(f"import asyncio\n{slow}1\nawait slow()", limit_seconds=1)
    assert "line 3: await asyncio.sleep(2.5)" in said
    assert heard("await asyncio.sleep(3)\nprint('alone')") == "alone"


OUTER = "def outer(x):\n    return torch.utils._pytree.tree_map(inner, [x])\n\n"
INNER = "def inner(x):\n    return 1 / x"


def test_a_traceback_names_the_cell_of_each_line_and_folds_libraries():
    ranks.run_cell(OUTER + INNER, called="In [3]")
    said = failing("for x in (1, 0):\n    outer(x)", called="In [4]")
    assert said.splitlines()[:6] == [
        "✗ ranks 0 and 1, In [3], line 5: ZeroDivisionError: division by zero",
        "    5 | return 1 / x",
        "    line 2: outer(x)",
        "    In [3], line 2, in outer: return torch.utils._pytree.tree_map(inner, [x])",
        "    … 2 frames in torch",
        "    In [3], line 5, in inner: return 1 / x",
    ]


def test_a_traceback_has_its_causes_and_stays_short():
    said = failing("try:\n    {}['a']\nexcept KeyError as e:\n    raise RuntimeError('no') from e")
    assert said.splitlines()[:4] == [
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
