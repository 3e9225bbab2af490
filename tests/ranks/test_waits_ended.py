"""A rank that raises costs nobody's variables: who waits for it gets an error, in whatever call."""

import sys
import time

import pytest

from course_utils import ranks
from course_utils.ranks.groups import steps
from course_utils.ranks.session import START

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended_at_last"),
]
SUM = "y = torch.ones(1) * 5 + rank\ndist.all_reduce(y)\n(y.item(), mine)"
RIGHT = "[rank 0] (11.0, 0)\n[rank 1] (11.0, 1)\n"
LATE_SECONDS = 8  # a message takes 1 s; this machine may have much to do
BEFORE = """
import threading
from torch.nn.parallel import DistributedDataParallel as DDP
mine, x, pair = rank, torch.ones(3), dist.new_group([0, 1])
net = DDP(torch.nn.Linear(3, 1))
loss = net(x).sum()
"""
END = "dist.destroy_process_group()\n"
WAITS = {
    "a collective": "dist.all_reduce(x)",
    "a barrier": "dist.barrier()",
    "a barrier that names who is missing": "dist.monitored_barrier()",
    "another group": "dist.all_reduce(x, group=pair)",
    "objects": "dist.all_gather_object([None] * 2, x)",
    "an asynchronous one": "dist.all_reduce(x, async_op=True).wait()",
    "a future": "dist.all_reduce(x, async_op=True).get_future().wait()",
    "a message to send": "dist.send(torch.ones(10_000_000), 1)",
    "a message to receive": "dist.recv(x, 1)",
    "gradients": "loss.backward()",
    "a group that is made": "dist.new_group([0, 1])",
    "a key": "dist.distributed_c10d._get_default_store().get('nobody sets it')",
    "a thread": "helper = threading.Thread(target=dist.recv, args=(x, 1))\nhelper.start()\n"
    "helper.join()",
}


def failing(source, **options):
    with pytest.raises(ranks.RankError) as error:
        ranks.run_cell(source, **options)
    return str(error.value)


def raising(wait):
    """A cell in which rank 1 raises, and rank 0 waits for it."""
    return f"if rank:\n    raise ValueError('lost')\n{wait}"


def assert_all_is_well(said, capsys):
    assert "variables are still there" in said and steps.ANEW in said
    capsys.readouterr()
    ranks.run_cell(SUM)
    assert capsys.readouterr().out == RIGHT


@pytest.mark.parametrize("name", WAITS)
def test_who_waits_for_a_rank_that_raised_is_let_go_and_variables_stay(name, capsys):
    ranks.run_cell(BEFORE, 2)
    begun = time.monotonic()
    said = failing(raising(WAITS[name]))
    assert time.monotonic() - begun < LATE_SECONDS
    assert said.startswith("✗ rank 1, line 2: ValueError: lost") and "  rank 0: waiting" in said
    assert steps.FREED in said
    assert_all_is_well(said, capsys)


BEGIN = "dist.init_process_group()"
FINISHED = {
    "a barrier": "if rank == 0:\n    dist.barrier()",
    "a group that both have ended": f"{END}if rank == 0:\n    {BEGIN}",
    "a group that one has ended": f"if rank == 0:\n    {END}    {BEGIN}",
}


@pytest.mark.parametrize("name", FINISHED)
def test_who_waits_for_a_rank_that_has_finished_too(name, capsys):
    ranks.run_cell(BEFORE, 2)
    said = failing(FINISHED[name])
    assert said.startswith("✗ Deadlock") and "  rank 1 had finished the cell" in said
    assert_all_is_well(said, capsys)


def test_ranks_that_wait_for_each_other_are_told_with_what_they_wait_for(capsys):
    ranks.run_cell(BEFORE, 2)
    said = failing("dist.all_reduce(x) if rank else dist.broadcast(x, 0)")
    assert "rank 0: waiting at line 1 in broadcast" in said
    assert "rank 1: waiting at line 1 in all_reduce" in said
    assert_all_is_well(said, capsys)


def test_collectives_of_the_old_group_are_not_compared_with_those_of_the_new_one(capsys):
    ranks.run_cell(BEFORE, 2)
    failing("dist.barrier()\nif rank == 0:\n    dist.barrier()")
    said = failing("dist.all_reduce(torch.ones(3 + rank))")
    assert said.startswith("✗ The ranks passed tensors of different shapes")
    assert "rank 1: all_reduce of float32 [4]" in said


def test_what_a_cell_does_with_the_error_is_shown_and_the_cell_has_failed_all_the_same(capsys):
    ranks.run_cell(BEFORE, 2)
    said = failing(raising("try:\n    dist.barrier()\nexcept RuntimeError:\n    print('caught')"))
    assert said.startswith("✗ rank 1, line 2: ValueError: lost")
    assert capsys.readouterr().out == "[rank 0] caught\n"
    assert_all_is_well(said, capsys)


def test_a_cell_that_was_stopped_lets_go_who_waits(capsys):
    ranks.run_cell(BEFORE, 2)
    said = failing("while rank:\n    pass\ndist.barrier()", limit_seconds=1)
    assert "Stopped after its limit" in said and "rank 0: waiting at line 3 in barrier" in said
    assert_all_is_well(said, capsys)


def test_a_group_that_fails_by_itself_is_replaced(capsys):
    ranks.run_cell(BEFORE, 2)
    said = failing(
        "import time\nfrom datetime import timedelta\n"
        "time.sleep(2) if rank else dist.monitored_barrier(timeout=timedelta(seconds=0.3))"
    )
    assert said.startswith("✗ rank 0, line 3: RuntimeError") and steps.BROKEN in said
    assert_all_is_well(said, capsys)


def test_a_cell_of_some_ranks_costs_the_others_nothing(capsys):
    ranks.run_cell(BEFORE, 2)
    assert_all_is_well(failing("dist.barrier()", only=[0]), capsys)


@pytest.mark.parametrize("after", ["while True: pass", "dist.recv(x)"])
def test_who_does_not_stop_soon_is_stopped_with_all_others(after, capsys):
    ranks.run_cell(BEFORE, 2)
    said = failing(raising(f"try:\n    dist.recv(x, 1)\nexcept RuntimeError:\n    {after}"))
    assert said.startswith("✗ rank 1, line 2: ValueError: lost")
    assert "All ranks were stopped" in said and steps.ANEW not in said
    capsys.readouterr()
    ranks.run_cell("mine = rank", 2)
    ranks.run_cell(SUM)
    assert capsys.readouterr().out == RIGHT


def test_ranks_without_a_folder_that_all_share_are_let_go_too(capsys, monkeypatch):
    ranks.stop()
    monkeypatch.setenv(START, "spawn")
    ranks.run_cell(BEFORE, 2)
    for name in ("a collective", "a group that is made", "a key"):
        assert_all_is_well(failing(raising(WAITS[name])), capsys)
    ranks.stop()
