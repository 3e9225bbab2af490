"""After whatever went wrong, a collective gets what the ranks send now, and never what was left."""

import pytest

import notebook_ranks as ranks
from notebook_ranks.groups import steps
from notebook_ranks.tests import cases

SUM = "y = torch.ones(1) * 5 + rank\ndist.all_reduce(y)\n(y.item(), mine)"
RIGHT = "[rank 0] (11.0, 0)\n[rank 1] (11.0, 1)\n"
LEFT_OVER = {
    "a collective that rank 1 never called": "if rank:\n    1 / 0\n"
    "work = dist.all_reduce(torch.ones(1), async_op=True)",
    "a message on its way": "if rank:\n    1 / 0\nwork = dist.isend(torch.ones(1), 1)",
    "another collective": "if rank:\n    work = dist.broadcast(torch.ones(1), 0, async_op=True)\n"
    "else:\n    work = dist.all_reduce(torch.ones(1), async_op=True)\n1 / 0",
    "a group that only rank 0 ended": "if rank:\n    1 / 0\ndist.destroy_process_group()",
}
RARELY_LEFT_OVER = {
    "a collective that nobody holds": "if rank:\n    1 / 0\n"
    "dist.all_reduce(torch.ones(1), async_op=True)",
    "messages that cross": "work = dist.isend(torch.ones(1), 1 - rank)\n1 / 0",
    "a cell that was stopped": "import time\nif rank == 0:\n"
    "    work = dist.all_reduce(torch.ones(1), async_op=True)\ntime.sleep(60)",
}


@pytest.mark.parametrize("name", cases(LEFT_OVER, RARELY_LEFT_OVER))
def test_after_a_failure_nothing_that_was_left_over_is_taken_for_new(name, said, failing):
    ranks.run_cell("mine = rank", 2)
    cell = {**LEFT_OVER, **RARELY_LEFT_OVER}[name]
    error = failing(cell, limit_seconds=2 if "time" in cell else None)
    assert "variables are still there" in error and steps.ANEW in error
    assert said(SUM) == RIGHT
    assert steps.ANEW not in failing("1 / 0")  # said once: they are in step again


@pytest.mark.parametrize("only", [None, [0]])
def test_after_a_cell_that_succeeded_too(only, said):
    ranks.run_cell("mine = rank", 2)
    cell = "if rank == 0:\n    w = dist.all_reduce(torch.ones(1), async_op=True)"
    assert "rank 0 called 1 collective more than rank 1" in said(cell, only=only)
    assert said(SUM) == RIGHT


MODEL = """
from torch.nn.parallel import DistributedDataParallel as DDP
ddp, pair, world = DDP(torch.nn.Linear(1, 1)), dist.new_group([0, 1]), dist.group.WORLD
x = torch.ones(1, 1)
mine = rank
"""


def test_ranks_in_step_keep_their_groups_and_what_was_made_over_them(said, failing):
    ranks.run_cell(MODEL, 2)
    assert steps.ANEW not in failing("if rank:\n    1 / 0")
    ranks.run_cell("w = dist.all_reduce(x, async_op=True)")  # begun here, waited for below
    told = said("w.wait()\nddp(x).sum().backward()\ndist.all_reduce(x, group=pair)\nx.item()")
    assert told == "[rank 0] 4.0\n[rank 1] 4.0\n"


def test_what_holds_the_old_group_fails_at_once_and_says_what_to_do(said, failing):
    for use in ("ddp(x).sum().backward()", "dist.all_reduce(x, group=pair)",
                "dist.barrier(group=world)"):  # fmt: skip
        ranks.run_cell(MODEL, 2)
        failing("if rank:\n    1 / 0\nw = dist.all_reduce(x, async_op=True)")
        error = failing(use)
        assert "Make it again" in error and "variables are still there" in error
        assert said(SUM) == RIGHT


def test_a_cell_that_torch_checks_leaves_the_ranks_in_step(said):
    ranks.run_cell("for _ in range(3):\n    dist.all_reduce(torch.ones(1))", 3, debug=True)
    assert said("1", only=[0]) == "[rank 0] 1\n"


def test_messages_that_all_arrived_are_no_reason_for_a_new_group(said, failing):
    exchange = "dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(1), 1 - rank),\n"
    exchange += "    dist.P2POp(dist.irecv, torch.ones(1), 1 - rank)])"
    ranks.run_cell(f"for work in {exchange}:\n    work.wait()", 2)
    failing("if rank:\n    1 / 0\ndist.all_reduce(torch.ones(1), async_op=True)")
    assert steps.ANEW not in failing("1 / 0")  # though the old group sent some
    among_three = "held, x = dist.group.WORLD, torch.ones(1)\nif rank:\n    dist.send(x, 0)\n"
    among_three += "else:\n    for r in (1, 2):\n        dist.recv(x, r)"
    assert steps.ANEW not in said(among_three, 3)
    assert said("held is dist.group.WORLD") == "".join(f"[rank {r}] True\n" for r in range(3))
    failing("1 / 0", 3)
    assert said("held is dist.group.WORLD") == "".join(f"[rank {r}] True\n" for r in range(3))
    ranks.run_cell(among_three, 3, debug=True)
    assert steps.ANEW not in said("1", only=[0])
