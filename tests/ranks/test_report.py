"""What the ranks say to a reader who asks for what can't be: a sentence, and nothing is lost."""

import threading

import pytest
import torch
from IPython.core.error import UsageError

from course_utils import ranks
from course_utils.ranks.engine import magic
from course_utils.ranks.engine.group import OPENED_AS


@pytest.fixture
def ended():
    yield
    ranks.stop()


@pytest.mark.parametrize(
    "line, words",
    [
        ("0", "a number of ranks, 1 or more, not 0"),
        ("four", "a number of ranks, 1 or more, not four"),
        ("4 --only a", "ranks are given as numbers: 0,2, not a"),
        ("4 --timeout 0", "seconds, more than 0, not 0"),
        ("4 --timeout soon", "seconds, more than 0, not soon"),
    ],
)
def test_a_line_that_asks_for_nonsense_says_what_is_wanted(line, words):
    with pytest.raises(UsageError, match=words):
        magic.run_magic(line, "rank")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_cuda_without_a_gpu_is_refused_and_the_next_cell_runs(ended, capsys):
    ranks.run_cell("rank", 2)
    with pytest.raises(ranks.RanksError, match="torch sees none here"):
        ranks.run_cell("rank", device="cuda")
    ranks.run_cell("print(rank, device)")
    assert "[rank 1] 1 cpu" in capsys.readouterr().out


def test_a_variable_of_ranks_that_were_replaced_is_missed_with_the_reason(ended, capsys):
    ranks.run_cell("mine = rank", 2)
    with pytest.raises(ranks.RankError, match="These ranks are new, 3 instead of 2"):
        ranks.run_cell("mine", 3)
    ranks.run_cell("mine = 1")
    with pytest.raises(ranks.RankError) as error:
        ranks.run_cell("yours")
    assert "These ranks are new" not in str(error.value)


def test_what_cannot_travel_and_what_is_ipythons_are_said_so(ended):
    ranks.start(1)
    with pytest.raises(ranks.RanksError, match="can't be sent to the ranks"):
        ranks.run(print, threading.Lock())
    with pytest.raises(ranks.RanksError, match="can't be sent to the ranks"):
        ranks.push(lock=threading.Lock())
    for source in ("%matplotlib inline", "!ls"):
        with pytest.raises(ranks.RankError, match="put them into a cell of their own"):
            ranks.run_cell(source)
    assert ranks.pull("rank") == [0]


def test_a_wanted_failure_that_does_not_come_is_a_failure(ended):
    with pytest.raises(ranks.RankError, match="meant to fail"):
        magic.run_magic("1 --fails", "rank")


def test_with_nccl_a_group_takes_cpu_tensors_too():
    assert OPENED_AS == {"nccl": "cpu:gloo,cuda:nccl"}
    config = torch.distributed.distributed_c10d.BackendConfig(OPENED_AS["nccl"])
    assert config.get_device_backend_map()["cpu"] == "gloo"
    assert config.get_device_backend_map()["cuda"] == "nccl"
