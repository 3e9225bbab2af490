"""A rank that raises costs nobody's variables: who waits for it gets an error, in whatever call."""

import pytest

import notebook_ranks as ranks
from notebook_ranks.engine import crew
from notebook_ranks.groups import steps
from notebook_ranks.tests import THOROUGH, cases
from notebook_ranks.tests.test_in_step import RIGHT, SUM

BEFORE = """
import threading
from torch.nn.parallel import DistributedDataParallel as DDP
mine, x, pair = rank, torch.ones(3), dist.new_group([0, 1])
net = DDP(torch.nn.Linear(3, 1))
loss = net(x).sum()
"""
WAITS = {
    "a collective": "dist.all_reduce(x)",
    "a message to receive": "dist.recv(x, 1)",
    "gradients": "loss.backward()",
    "a key": "dist.distributed_c10d._get_default_store().get('nobody sets it')",
}
RARE_WAITS = {
    "a barrier that names who is missing": "dist.monitored_barrier()",
    "objects": "dist.all_gather_object([None] * 2, x)",
    "a future": "dist.all_reduce(x, async_op=True).get_future().wait()",
    "a message to send": "dist.send(torch.ones(10_000_000), 1)",
    "a group that is made": "dist.new_group([0, 1])",
    "a thread": "helper = threading.Thread(target=dist.recv, args=(x, 1))\nhelper.start()\n"
    "helper.join()",
}


def raising(wait):
    """A cell in which rank 1 raises, and rank 0 waits for it."""
    return f"if rank:\n    raise ValueError('lost')\n{wait}"


@pytest.fixture
def well(said):
    """Checks that after this message variables are there, and a new group."""

    def check(error):
        assert "variables are still there" in error and steps.ANEW in error
        assert said(SUM) == RIGHT

    return check


@pytest.mark.parametrize("name", cases(WAITS, RARE_WAITS))
def test_who_waits_for_a_rank_that_raised_is_let_go_and_variables_stay(name, failing, well):
    ranks.run_cell(BEFORE, 2)
    error = failing(raising({**WAITS, **RARE_WAITS}[name]))
    assert error.startswith("✗ rank 1, line 2: ValueError: lost") and "  rank 0: waiting" in error
    assert steps.FREED in error
    well(error)


FINISHED = {
    "a barrier": "if rank == 0:\n    dist.barrier()",
    "a group that both have ended": "dist.destroy_process_group()\n"
    "if rank == 0:\n    dist.init_process_group()",
}


@THOROUGH
@pytest.mark.parametrize("name", FINISHED)
def test_who_waits_for_a_rank_that_has_finished_too(name, failing, well):
    ranks.run_cell(BEFORE, 2)
    error = failing(FINISHED[name])
    assert error.startswith("✗ Deadlock") and "  rank 1 had finished the cell" in error
    well(error)


def test_what_a_cell_does_with_the_error_is_shown_and_the_cell_has_failed_all_the_same(
    capsys, failing, well
):
    ranks.run_cell(BEFORE, 2)
    cell = raising("try:\n    dist.barrier()\nexcept RuntimeError:\n    print('caught')")
    error = failing(cell)
    assert error.startswith("✗ rank 1, line 2: ValueError: lost")
    assert capsys.readouterr().out == "[rank 0] caught\n"
    well(error)


def test_a_cell_that_was_stopped_lets_go_who_waits(failing, well):
    ranks.run_cell(BEFORE, 2)
    error = failing("while rank:\n    pass\ndist.barrier()", limit_seconds=5)
    assert "Stopped after its limit" in error and "rank 0: waiting at line 3 in barrier" in error
    well(error)


@THOROUGH
def test_a_group_that_fails_by_itself_is_replaced(failing, well):
    ranks.run_cell(BEFORE, 2)
    error = failing(
        "import time\nfrom datetime import timedelta\n"
        "time.sleep(2) if rank else dist.monitored_barrier(timeout=timedelta(seconds=0.3))"
    )
    assert error.startswith("✗ rank 0, line 3: RuntimeError") and steps.BROKEN in error
    well(error)
    well(failing("dist.barrier()", only=[0]))  # costs the others nothing


@THOROUGH
@pytest.mark.parametrize("after", ["while True: pass", "dist.recv(x)"])
def test_who_does_not_stop_soon_is_stopped_with_all_others(after, said, failing, monkeypatch):
    monkeypatch.setattr(crew, "STOP_SECONDS", 2)
    ranks.run_cell(BEFORE, 2)
    error = failing(raising(f"try:\n    dist.recv(x, 1)\nexcept RuntimeError:\n    {after}"))
    assert error.startswith("✗ rank 1, line 2: ValueError: lost")
    assert "All ranks were stopped" in error and steps.ANEW not in error
    ranks.run_cell("mine = rank", 2)
    assert said(SUM) == RIGHT
