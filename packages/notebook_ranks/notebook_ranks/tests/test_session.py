"""Ranks in a notebook cell, in a real kernel: what a reader types, and what comes back."""

import os
import re
import signal

from notebook_ranks.tests.kernels import CELL_SECONDS, Kernel


def test_output_comes_rank_by_rank_and_a_last_expression_is_shown(kernel):
    code = "print('a')\nprint('b', rank, world_size, local_rank, device)\nrank * 2"
    found = kernel.cell(code, "3")
    wanted = "".join(
        f"[rank {r}] a\n[rank {r}] b {r} 3 {r} cpu\n[rank {r}] {2 * r}\n" for r in range(3)
    )
    assert (found.text, found.error) == (wanted, "")


def test_the_first_rank_is_heard_while_the_others_still_work(kernel, tmp_path):
    code = "import os, time\n"
    code += f"while rank and not os.path.exists('{tmp_path}/heard'):\n    time.sleep(0.02)\n"
    found = ""
    for kind, content in kernel.heard(f"%%ranks 2\n{code}print('hello', rank)"):
        found += content["text"] if kind == "stream" else ""
        if found == "[rank 0] hello 0\n":
            (tmp_path / "heard").touch()
    assert found.endswith("[rank 1] hello 1\n")


def test_variables_stay_and_a_subset_of_the_ranks_can_be_asked(kernel):
    kernel.cell("1", "3")
    assert kernel.cell("rank", "4 --only 1").text == "[rank 1] 1\n"
    assert kernel.cell("dist.barrier()").error == ""
    kernel.cell("kept = rank + 10", "4")
    assert kernel.cell("kept", "--only 0,2").text == "[rank 0] 10\n[rank 2] 12\n"
    assert "No rank 7: there are 0 to 3" in kernel.cell("kept", "--only 7").error


def test_with_debug_torch_names_the_shapes_that_differ(kernel):
    found = kernel.cell("dist.all_reduce(torch.ones(2 + rank))", "2 --debug")
    assert "Detected mismatch between collectives on ranks" in found.error
    assert kernel.cell("dist.get_debug_level().name", "2").text.count("OFF") == 2


def test_any_number_of_ranks_works(kernel):
    assert kernel.works(1) and kernel.works(8)


def test_functions_and_values_travel_both_ways(kernel):
    kernel.run(
        "import torch\n"
        "def scaled(x, by):\n"
        "    y = x * by + rank\n"
        "    dist.all_reduce(y)\n"
        "    return {'y': y, 'rank': rank}\n"
        "ranks.start(2)\n"
        "found = ranks.run(scaled, torch.ones(3), by=2)\n"
        "ranks.push(big=torch.arange(3_000_000), name='z')\n"
        "pulled = ranks.pull('big.dtype'), ranks.pull('rank')"
    )
    assert kernel.run("found[1]").text == "{'y': tensor([5., 5., 5.]), 'rank': 1}"
    assert kernel.run("pulled").text == "([torch.int64, torch.int64], [0, 1])"


def test_a_function_of_the_notebook_finds_what_the_ranks_have_and_its_own_names_first(kernel):
    kernel.cell("kept = both = rank + 10\ndef double(x):\n    return 2 * x", "2")
    kernel.run("both, rank = 'the notebook', 99\ndef look():\n    return double(kept), both, rank")
    found = kernel.run("ranks.run(look)").text
    assert found == "[(20, 'the notebook', 0), (22, 'the notebook', 1)]"
    assert "name 'double' is not defined" in kernel.run("look()").error
    kernel.run("from os.path import basename as device\ndef where():\n    return device('/a/cpu')")
    assert kernel.run("ranks.run(where)").text == "['cpu', 'cpu']"  # the page's, which is called


def test_a_name_is_pulled_and_code_is_refused_with_what_to_do_instead(kernel):
    kernel.run("ranks.start(2)")
    error = kernel.run("ranks.pull('rank + 1')").error
    assert "pull takes the name of a variable, not 'rank + 1'" in error
    assert "ranks.run(function)" in error
    assert "NameError: name 'nobodys' is not defined" in kernel.run("ranks.pull('nobodys')").error


def test_an_error_names_its_lines_in_the_notebooks_cells_and_reads_the_same_in_every_run(kernel):
    kernel.run("def fails():\n    if rank == 1:\n        raise ValueError('no')\n\nranks.start(2)")
    error = kernel.run("ranks.run(fails)").error
    told = r"✗ rank 1, In \[\d+\], line 3: ValueError: no\n    3 \| raise ValueError\('no'\)"
    assert re.search(told, error)
    kernel.cell("def fails():\n    return 1 / 0", "2")
    error = kernel.cell("fails()").error
    assert len(set(re.findall(r"In \[(\d+)\]", error))) == 1 and "    line 2: fails()" in error
    code = "def fails():\n    torch.nn.Linear(2, 2)(torch.ones(3))\nfails()"
    first, second = (kernel.cell(code, "2 --fails").text for _ in range(2))
    assert first == second and "    line 4: fails()\n    line 3, in fails: torch" in first


def test_each_rank_draws_its_own_numbers_the_same_in_every_run(kernel):
    code = "import random, numpy\nrandom.random(), numpy.random.rand(), torch.rand(1).item()"
    kernel.run("ranks.start(2)\nranks.restart()")
    first = kernel.cell(code, "2").text
    kernel.run("ranks.restart()")
    assert kernel.cell(code, "2").text == first
    drawn = [line.partition("(")[2] for line in first.splitlines()]
    assert not set(drawn[0].split(", ")) & set(drawn[1].split(", "))


def test_a_cell_that_is_no_python_is_not_run(kernel):
    assert "unrecognized arguments: --bla" in kernel.cell("1", "4 --bla").text
    error = kernel.cell("print(1", "2").error
    assert "line 2: SyntaxError" in error and "Nothing was run" in error


def test_a_failure_that_is_wanted_is_printed(kernel):
    found = kernel.cell("1 / 0", "2 --fails")
    assert found.text.startswith("✗ ranks 0 and 1, line 2: ZeroDivisionError") and not found.error
    assert "meant to fail" in kernel.cell("1", "2 --fails").error
    assert "ZeroDivisionError" in kernel.run("print(ranks.failures()[-1])").text


def test_two_notebooks_do_not_meet_and_a_killed_one_leaves_nothing_behind(kernel):
    other = Kernel()
    assert kernel.works() and other.works()
    other.cell("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert kernel.works() and other.works()
    apart = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)"
    assert other.cell(apart).error == ""
    os.kill(other.pid, signal.SIGKILL)
    assert other.seconds_until_gone() < CELL_SECONDS
    assert kernel.works()
    other.close()


def test_a_killed_helper_takes_its_ranks_along_and_the_next_cell_has_a_new_one(kernel):
    assert kernel.works()
    helper = kernel.cell("import os\nprint(os.getppid())", "--only 0").text
    os.kill(int(helper.removeprefix("[rank 0] ")), signal.SIGKILL)
    assert kernel.seconds_until_gone(but=1) < CELL_SECONDS
    assert kernel.cell("1").text.startswith("The ranks were gone. These are new ones")
    assert kernel.works()
