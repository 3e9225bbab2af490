"""What is taken of torch's inside is there; where a torch lacks it, less is known, no more."""

import inspect
import re
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import torch.distributed as dist

from course_utils import ranks
from course_utils.ranks.groups import notes, steps, torch_inside

c10d = dist.distributed_c10d
NAMES = ("_set_pg_timeout", "_world", "_abort_process_group", "_new_process_group_helper")


def test_this_torch_has_all_that_is_taken_of_it():
    assert [name for name in NAMES if not hasattr(c10d, name)] == []
    assert len(list(torch_inside.recorders())) == 1  # NCCL's own comes with CUDA
    assert all(map(inspect.isclass, torch_inside.classes()))


@pytest.fixture
def bare(monkeypatch):
    """A torch without its inside."""
    for name in NAMES:
        monkeypatch.delattr(c10d, name)


def test_how_long_a_message_is_waited_for_is_known_of_a_gloo_group_alone(tmp_path):
    assert torch_inside.patience_of(None) == 0
    store, wait = dist.FileStore(str(tmp_path / "store"), 1), timedelta(seconds=7)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1, timeout=wait)
    assert torch_inside.patience_of(dist.group.WORLD) == 7
    dist.destroy_process_group()


def test_without_it_groups_cannot_be_counted_and_nothing_else_fails(bare):
    assert torch_inside.groups() is None and torch_inside.groups_made() == 0
    assert torch_inside.members(None) == [] and list(notes.groups()) == []
    assert steps.Counter().standing() is None and steps.Counter().moved()
    torch_inside.set_timeout(timedelta(seconds=1))
    torch_inside.abort_groups()
    torch_inside.forget_groups()
    torch_inside.around_new_groups(lambda: None)


@pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")
def test_ranks_that_cannot_be_counted_get_their_group_anew_after_a_failure(ended, capsys):
    ranks.run_cell("mine = rank", 2)
    unknown = (
        "from course_utils.ranks.groups import torch_inside\ntorch_inside.groups = lambda: None"
    )
    ranks.run_cell(unknown)
    assert capsys.readouterr().out == ""  # a cell that succeeded is believed
    with pytest.raises(ranks.RankError, match=r"can't be known\. The next cell opens"):
        ranks.run_cell("1 / 0")
    ranks.run_cell("x = torch.ones(1)\ndist.all_reduce(x)\nx.item(), mine")
    assert capsys.readouterr().out == "[rank 0] (2.0, 0)\n[rank 1] (2.0, 1)\n"


def test_nothing_else_of_the_package_takes_what_is_torchs_own():
    inside = re.compile(r"torch\._C\b|distributed_c10d|\bdist\._\w|\b_world\b")
    folder = Path(torch_inside.__file__).parent.parent
    found = {p.name for p in folder.rglob("*.py") if inside.search(p.read_text(encoding="utf-8"))}
    assert found == {"torch_inside.py"}
