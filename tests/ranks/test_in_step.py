"""After whatever went wrong, a collective gets what the ranks send now, and never what was left."""

import sys

import pytest

from course_utils import ranks
from course_utils.ranks.groups import steps

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended_at_last"),
]
SUM = "y = torch.ones(1) * 5 + rank\ndist.all_reduce(y)\n(y.item(), mine)"
RIGHT = "[rank 0] (11.0, 0)\n[rank 1] (11.0, 1)\n"
LEFT_OVER = {
    "a collective that rank 1 never called": "if rank:\n    1 / 0\n"
    "work = dist.all_reduce(torch.ones(1), async_op=True)",
    "a collective that nobody holds": "if rank:\n    1 / 0\n"
    "dist.all_reduce(torch.ones(1), async_op=True)",
    "a message on its way": "if rank:\n    1 / 0\nwork = dist.isend(torch.ones(1), 1)",
    "a message awaited": "if rank:\n    1 / 0\nwork = dist.irecv(torch.ones(1), 1)",
    "another collective": "if rank:\n    work = dist.broadcast(torch.ones(1), 0, async_op=True)\n"
    "else:\n    work = dist.all_reduce(torch.ones(1), async_op=True)\n1 / 0",
    "messages that cross": "work = dist.isend(torch.ones(1), 1 - rank)\n1 / 0",
    "a group of two that only rank 0 ended": "pair = dist.new_group([0, 1])\nif rank:\n    1 / 0\n"
    "dist.destroy_process_group(pair)",
    "a group that only rank 0 made": "if rank:\n    1 / 0\n"
    "alone = dist.new_group([0], use_local_synchronization=False)",
    "a group that only rank 0 ended": "if rank:\n    1 / 0\ndist.destroy_process_group()",
    "a cell that was stopped": "import time\nif rank == 0:\n"
    "    work = dist.all_reduce(torch.ones(1), async_op=True)\ntime.sleep(60)",
}


def failing(source, **options):
    with pytest.raises(ranks.RankError) as error:
        ranks.run_cell(source, **options)
    return str(error.value)


@pytest.mark.parametrize("name", LEFT_OVER)
def test_after_a_failure_nothing_that_was_left_over_is_taken_for_new(name, capsys):
    ranks.run_cell("mine = rank", 2)
    said = failing(LEFT_OVER[name], limit_seconds=1 if "time" in LEFT_OVER[name] else None)
    assert "variables are still there" in said and steps.ANEW in said
    capsys.readouterr()
    ranks.run_cell(SUM)
    assert capsys.readouterr().out == RIGHT
    assert steps.ANEW not in failing("1 / 0")  # said once: they are in step again


@pytest.mark.parametrize("only", [None, [0]])
def test_after_a_cell_that_succeeded_too(only, capsys):
    ranks.run_cell("mine = rank", 2)
    ranks.run_cell(
        "if rank == 0:\n    w = dist.all_reduce(torch.ones(1), async_op=True)", only=only
    )
    assert "rank 0 called 1 collective more than rank 1" in capsys.readouterr().out
    ranks.run_cell(SUM)
    assert capsys.readouterr().out == RIGHT


MODEL = """
from torch.nn.parallel import DistributedDataParallel as DDP
ddp, pair, world = DDP(torch.nn.Linear(1, 1)), dist.new_group([0, 1]), dist.group.WORLD
x = torch.ones(1, 1)
"""


def test_ranks_in_step_keep_their_groups_and_what_was_made_over_them(capsys):
    ranks.run_cell(MODEL, 2)
    assert steps.ANEW not in failing("if rank:\n    1 / 0")
    ranks.run_cell("w = dist.all_reduce(x, async_op=True)")  # begun here, waited for below
    ranks.run_cell("w.wait()\nddp(x).sum().backward()\ndist.all_reduce(x, group=pair)\nx.item()")
    assert capsys.readouterr().out == "[rank 0] 4.0\n[rank 1] 4.0\n"


@pytest.mark.parametrize("use", ["ddp(x).sum().backward()", "dist.all_reduce(x, group=pair)",
                                 "dist.barrier(group=world)"])  # fmt: skip
def test_what_holds_the_old_group_fails_at_once_and_says_what_to_do(use, capsys):
    ranks.run_cell(MODEL + "mine = rank", 2)
    failing("if rank:\n    1 / 0\nw = dist.all_reduce(x, async_op=True)")
    said = failing(use)
    assert "Make it again" in said and "variables are still there" in said
    ranks.run_cell(SUM)
    assert capsys.readouterr().out == RIGHT


def test_a_cell_that_torch_checks_leaves_the_ranks_in_step(capsys):
    ranks.run_cell("for _ in range(3):\n    dist.all_reduce(torch.ones(1))", 3, debug=True)
    ranks.run_cell("1", only=[0])
    assert capsys.readouterr().out == "[rank 0] 1\n"


def test_what_the_old_group_sent_is_not_held_against_the_new_one():
    exchange = "dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(1), 1 - rank),\n"
    exchange += "    dist.P2POp(dist.irecv, torch.ones(1), 1 - rank)])"
    ranks.run_cell(f"for work in {exchange}:\n    work.wait()", 2)
    failing("if rank:\n    1 / 0\ndist.all_reduce(torch.ones(1), async_op=True)")
    assert steps.ANEW not in failing("1 / 0")


def test_messages_among_several_ranks_are_no_reason_for_a_new_group(capsys):
    ranks.run_cell(
        "held = dist.group.WORLD\nx = torch.ones(1)\n"
        "if rank:\n    dist.send(x, 0)\nelse:\n    for r in (1, 2):\n        dist.recv(x, r)", 3
    )  # fmt: skip
    assert steps.ANEW not in capsys.readouterr().out
    ranks.run_cell("held is dist.group.WORLD")
    assert capsys.readouterr().out == "".join(f"[rank {r}] True\n" for r in range(3))
