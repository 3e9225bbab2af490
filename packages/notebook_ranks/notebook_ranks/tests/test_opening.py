"""`init_process_group` at the top of a cell, in every form in which programs write it."""

import pytest

import notebook_ranks as ranks

SUM = "\nx = torch.ones(1)\ndist.all_reduce(x)\nx.item()"
BOTH = "[rank 0] 2.0\n[rank 1] 2.0\n"
FORMS = (
    "", "backend='gloo', init_method='env://'", "None",
    "'gloo', init_method='tcp://10.1.1.20:23456', rank=rank, world_size=world_size",
    "'gloo', init_method='file:///no/such/folder/file', world_size=2, rank=rank",
    "'gloo', rank=rank, world_size=2, timeout=__import__('datetime').timedelta(seconds=90)",
)  # fmt: skip


@pytest.fixture(autouse=True)
def two():
    ranks.start(2)


def test_every_form_works_and_the_cell_may_be_run_again(said):
    for form in FORMS:
        for before in ("", "", "dist.destroy_process_group()\n"):
            assert said(f"{before}dist.init_process_group({form}){SUM}") == BOTH, form


SETUP = """
import os
from torch.distributed import init_process_group, destroy_process_group

def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    init_process_group("gloo", rank=rank, world_size=world_size)

setup(rank, world_size)
destroy_process_group()
setup(rank, world_size)
x = torch.ones(1)
dist.all_reduce(x)
print(x.item())
destroy_process_group()
"""


def test_a_program_may_open_and_close_and_the_next_cell_has_a_group_again(said):
    for _ in range(2):
        assert said(SETUP) == said(SUM) == BOTH


def test_what_a_cell_asks_for_and_the_ranks_are_not_is_a_sentence(failing):
    for form, words in {
        "rank=1 - rank, world_size=2": "Leave rank= out",
        "world_size=3": "%%ranks 3",
        "'nccl'": 'Take "gloo" here',
    }.items():
        error = failing(f"dist.init_process_group({form})")
        assert words in error and "variables are still there" in error
        assert "group.py" not in error
    twice = "dist.init_process_group()\ndist.init_process_group()"
    assert "initialize the default process group twice" in failing(twice)
