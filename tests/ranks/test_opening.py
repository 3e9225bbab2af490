"""`init_process_group` at the top of a cell, in every form in which programs write it."""

import shutil
import sys

import pytest

from course_utils import ranks

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended_at_last"),
]
SUM = "\nx = torch.ones(1)\ndist.all_reduce(x)\nx.item()"
BOTH = "[rank 0] 2.0\n[rank 1] 2.0\n"
FORMS = (
    "", '"gloo"', "backend='gloo', init_method='env://'", "None",
    "'gloo', init_method='tcp://10.1.1.20:23456', rank=rank, world_size=world_size",
    "'gloo', init_method='file:///no/such/folder/file', world_size=2, rank=rank",
    "'gloo', rank=rank, world_size=2, timeout=__import__('datetime').timedelta(seconds=20)",
)  # fmt: skip


def failing(source):
    with pytest.raises(ranks.RankError) as error:
        ranks.run_cell(source)
    return str(error.value)


def test_every_form_works_and_the_cell_may_be_run_again(capsys):
    ranks.start(2)
    for form in FORMS:
        for before in ("", "", "dist.destroy_process_group()\n"):
            ranks.run_cell(f"{before}dist.init_process_group({form}){SUM}")
            assert capsys.readouterr().out == BOTH, form


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
"""


def test_a_program_may_open_and_close_and_the_next_cell_has_a_group_again(capsys):
    ranks.start(2)
    for _ in range(2):
        ranks.run_cell(SETUP + SUM[1:].replace("x.item()", "print(x.item())") + "\n"
                       "destroy_process_group()")  # fmt: skip
        ranks.run_cell(SUM)
        assert sorted(capsys.readouterr().out.splitlines()) == sorted((2 * BOTH).splitlines())


def test_what_a_cell_asks_for_and_the_ranks_are_not_is_a_sentence():
    ranks.start(2)
    for form, words in {
        "rank=1 - rank, world_size=2": "Leave rank= out",
        "world_size=3": "%%ranks 3",
        "'nccl'": 'Take "gloo" here',
    }.items():
        said = failing(f"dist.init_process_group({form})")
        assert words in said and "variables are still there" in said
        assert "opening.py" not in said


def test_a_second_call_in_one_cell_gets_torchs_own_error():
    ranks.start(2)
    assert "initialize the default process group twice" in failing(
        "dist.init_process_group()\ndist.init_process_group()"
    )


def test_a_store_folder_that_was_deleted_is_made_again_at_once(capsys):
    ranks.run_cell("mine = rank", 2)
    shutil.rmtree(ranks.session.now.starter.folder)
    ranks.run_cell("dist.new_group([0, 1])" + SUM + ", mine")
    said = capsys.readouterr().out
    assert "folder of the ranks' store was deleted" in said
    assert "[rank 1] (2.0, 1)\n" in said
