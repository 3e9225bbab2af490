"""Ranks in a notebook cell, in a real kernel: what a reader types, and what comes back."""

import os
import re
import signal
import sys

import pytest

from tests.support.kernels import CELL_SECONDS, Kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def kernel():
    found = Kernel()
    yield found
    found.close()
    assert found.seconds_until_gone() < CELL_SECONDS


def works(kernel, n=4):
    """Whether the notebook is usable, and nothing but the helper and its ranks is there."""
    found = kernel.cell("x = torch.ones(2) * rank\ndist.all_reduce(x)\nx", str(n))
    total = sum(range(n))
    wanted = "".join(f"[rank {r}] tensor([{total}., {total}.])\n" for r in range(n))
    return (found.text, found.error) == (wanted, "") and len(kernel.processes()) == n + 2


def test_output_comes_rank_by_rank_and_a_last_expression_is_shown(kernel):
    found = kernel.cell(
        "print('a')\nprint('b', rank, world_size, local_rank, device)\nrank * 2", "3"
    )
    wanted = "".join(
        f"[rank {r}] a\n[rank {r}] b {r} 3 {r} cpu\n[rank {r}] {2 * r}\n" for r in range(3)
    )
    assert (found.text, found.error) == (wanted, "")


def test_the_first_rank_is_heard_while_the_others_still_work(kernel):
    code = "import time\nif rank:\n    time.sleep(3)\nprint('hello', rank)"
    kernel.client.execute(f"%%ranks 2\n{code}")
    heard = []
    while len(heard) < 2:
        found = kernel.client.get_iopub_msg(timeout=CELL_SECONDS)
        if found["msg_type"] == "stream":
            heard.append((found["content"]["text"], found["header"]["date"]))
    assert [text for text, _ in heard] == ["[rank 0] hello 0\n", "[rank 1] hello 1\n"]
    assert (heard[1][1] - heard[0][1]).total_seconds() > 2


def test_variables_stay_and_a_subset_can_be_asked(kernel):
    kernel.cell("kept = rank + 10", "4")
    assert kernel.cell("kept", "--only 0,2").text == "[rank 0] 10\n[rank 2] 12\n"
    assert kernel.cell("kept", "4").text.count("rank") == 4
    assert "No rank 7: there are 0 to 3" in kernel.cell("kept", "--only 7").error


def test_a_subset_may_come_first(kernel):
    kernel.run("ranks.stop()")
    assert kernel.cell("rank", "3 --only 1").text == "[rank 1] 1\n"
    assert kernel.cell("dist.barrier()").error == ""


def test_with_debug_torch_names_the_shapes_that_differ(kernel):
    kernel.run("ranks.start(2)")
    found = kernel.cell("dist.all_reduce(torch.ones(2 + rank))", "--debug")
    assert "Detected mismatch between collectives on ranks" in found.error
    assert kernel.cell("dist.get_debug_level().name", "2").text.count("OFF") == 2


def test_a_longer_limit_is_the_notebooks_from_then_on(kernel):
    kernel.run("ranks.start(2, limit_seconds=1)")
    assert "limit of 1 s" in kernel.cell("while True: pass").error
    kernel.run("ranks.start(limit_seconds=30)")
    assert kernel.cell("import time\ntime.sleep(1.5)").error == ""


@pytest.mark.parametrize("n", [1, 2, 8])
def test_any_number_of_ranks_works(kernel, n):
    assert works(kernel, n)


def test_the_reader_may_call_init_process_group_and_run_the_cell_again(kernel):
    for _ in range(3):
        found = kernel.cell("dist.init_process_group('gloo')\ndist.barrier()\nprint('up')", "2")
        assert (found.text, found.error) == ("[rank 0] up\n[rank 1] up\n", "")


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
    kernel.run("from course_utils import device\ndef where():\n    return str(device())")
    assert kernel.run("ranks.run(where)").text == "['cpu', 'cpu']"  # the page's, which is called


def test_a_name_is_pulled_and_code_is_refused_with_what_to_do_instead(kernel):
    kernel.run("ranks.start(2)")
    for code in ("double(3)", "rank + 1", "[rank]", "", "kept."):
        error = kernel.run(f"ranks.pull({code!r})").error
        assert f"pull takes the name of a variable, not {code!r}" in error
        assert "ranks.run(function)" in error
    assert "NameError: name 'nobodys' is not defined" in kernel.run("ranks.pull('nobodys')").error


def test_a_failing_function_names_its_line_in_the_notebook(kernel):
    kernel.run("def fails():\n    if rank == 1:\n        raise ValueError('no')\n\nranks.start(2)")
    error = kernel.run("ranks.run(fails)").error
    said = r"✗ rank 1, In \[\d+\], line 3: ValueError: no\n    3 \| raise ValueError\('no'\)"
    assert re.search(said, error)


def test_a_traceback_has_the_numbers_of_earlier_cells(kernel):
    kernel.cell("def fails():\n    return 1 / 0", "2")
    error = kernel.cell("fails()").error
    assert len(set(re.findall(r"In \[(\d+)\]", error))) == 1 and "    line 2: fails()" in error


def test_what_a_failing_cell_says_of_itself_is_the_same_in_every_run(kernel):
    code = "def fails():\n    torch.nn.Linear(2, 2)(torch.ones(3))\nfails()"
    first, second = (kernel.cell(code, "2 --fails").text for _ in range(2))
    assert first == second and "    line 4: fails()\n    line 3, in fails: torch" in first
    assert "frames" not in kernel.cell("dist.all_reduce(1)").error  # one line says it all


def test_each_rank_draws_its_own_numbers_the_same_in_every_run(kernel):
    code = "import random, numpy\nrandom.random(), numpy.random.rand(), torch.rand(1).item()"
    kernel.run("ranks.stop()")
    first = kernel.cell(code, "2").text
    kernel.run("ranks.restart()")
    assert kernel.cell(code, "2").text == first
    drawn = [line.partition("(")[2] for line in first.splitlines()]
    assert not set(drawn[0].split(", ")) & set(drawn[1].split(", "))


TUTORIAL = {  # what PyTorch's "Writing Distributed Applications with PyTorch" has its reader do
    "blocking": "t = torch.zeros(1)\nif rank == 0:\n    t += 1\n    dist.send(t, dst=1)\n"
    "elif rank == 1:\n    dist.recv(t, src=0)\nt.item() if rank < 2 else 1.0",
    "immediate": "t = torch.ones(1) if rank == 0 else torch.zeros(1)\n"
    "if rank < 2:\n    (dist.isend(t, 1) if rank == 0 else dist.irecv(t, 0)).wait()\n"
    "t.item() if rank < 2 else 1.0",
    "a group of two": "group = dist.new_group([0, 1])\nt = torch.ones(1) / 2\n"
    "if rank < 2:\n    dist.all_reduce(t, group=group)\nt.item() if rank < 2 else 1.0",
    "averaged gradients": "model = torch.nn.Linear(3, 1)\n"
    "for p in model.parameters():\n    dist.broadcast(p.data, 0)\n"
    "for step in range(3):\n    model.zero_grad()\n    model(torch.rand(8, 3)).mean().backward()\n"
    "    for p in model.parameters():\n        dist.all_reduce(p.grad)\n"
    "        p.data -= 0.1 * p.grad / world_size\n"
    "all_weights = [torch.empty_like(model.weight.data) for _ in range(world_size)]\n"
    "dist.all_gather(all_weights, model.weight.data)\n"
    "1.0 if all(torch.equal(w, all_weights[0]) for w in all_weights) else 0.0",
    "DDP": "ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))\n"
    "ddp(torch.rand(8, 3)).sum().backward()\ngrad = ddp.module.weight.grad.clone()\n"
    "dist.broadcast(grad, 0)\n1.0 if torch.equal(grad, ddp.module.weight.grad) else 0.0",
}


@pytest.mark.parametrize("name", TUTORIAL)
def test_what_torchs_tutorial_does_runs_in_a_cell(kernel, name):
    found = kernel.cell(TUTORIAL[name], "4")
    assert (found.text, found.error) == ("".join(f"[rank {r}] 1.0\n" for r in range(4)), "")


def test_what_c_code_and_programs_print_is_shown_too(kernel):
    found = kernel.cell("import os\nprint('first')\nos.system('echo a program')", "2")
    assert found.text.splitlines()[:3] == ["[rank 0] first", "[rank 0] 0", "[rank 0] a program"]


def test_magic_options_that_are_wrong_get_a_sentence(kernel):
    assert "unrecognized arguments: --bla" in kernel.cell("1", "4 --bla").text
    assert "a number of ranks, 1 or more, not 0" in kernel.cell("1", "0").text
    error = kernel.cell("print(1", "2").error
    assert "line 2: SyntaxError" in error and "Nothing was run" in error


def test_a_failure_that_is_wanted_is_printed(kernel):
    found = kernel.cell("1 / 0", "2 --fails")
    assert found.text.startswith("✗ ranks 0 and 1, line 2: ZeroDivisionError") and not found.error
    assert "meant to fail" in kernel.cell("1", "2 --fails").error
    assert "ZeroDivisionError" in kernel.run("print(ranks.failures()[-1])").text


def test_two_notebooks_do_not_meet(kernel):
    other = Kernel()
    try:
        assert works(kernel) and works(other)
        other.cell("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        assert works(kernel) and works(other)
    finally:
        other.close()


def test_a_killed_kernel_leaves_nothing_behind(kernel):
    other = Kernel()
    other.cell(
        "import os\nif os.fork() == 0:\n    os.setsid()\n    __import__('time').sleep(1000)", "4"
    )
    os.kill(other.pid, signal.SIGKILL)
    assert other.seconds_until_gone() < CELL_SECONDS
    other.close()


def test_a_killed_helper_takes_its_ranks_along_and_the_next_cell_has_a_new_one(kernel):
    assert works(kernel)
    helper = kernel.cell("import os\nprint(os.getppid())", "--only 0").text
    os.kill(int(helper.removeprefix("[rank 0] ")), signal.SIGKILL)
    assert kernel.seconds_until_gone(but=1) < CELL_SECONDS
    assert kernel.cell("1").text.startswith("The ranks were gone. These are new ones")
    assert works(kernel)
