"""Processes that a cell starts: they find what it defines, and none is left."""

import os
import sys
import time
from pathlib import Path

import pytest

from course_utils import ranks
from course_utils.ranks.engine import turn

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended_at_last"),
]


@pytest.fixture(autouse=True)
def unattended(monkeypatch):
    """No words in between: a busy machine takes long to import torch."""
    monkeypatch.setenv(turn.UNATTENDED, "1")


MAIN = """
import os
import torch.multiprocessing as mp

FACTOR = 10

class Net(torch.nn.Linear):
    pass

def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)

def main(rank, world_size, queue):
    setup(rank, world_size)
    net, x = Net(1, 1), torch.ones(1) * rank * FACTOR
    dist.all_reduce(x)
    queue.put((x.item(), type(net), rank))
    if rank == 1:  # rank 0 forgets: what it leaves behind must not be met by those who come next
        dist.destroy_process_group()
"""
SPAWN = """
def demo(nprocs):
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(main, args=(nprocs, queue), nprocs=nprocs)
    found = [queue.get() for _ in range(nprocs)]
    return sorted((x, kind is Net, r) for x, kind, r in found)

if __name__ == "__main__":
    print(demo(1))
"""
FORK = (
    2
    * """
queue = mp.get_context("fork").SimpleQueue()
started = [mp.get_context("fork").Process(target=main, args=(r, 2, queue)) for r in range(2)]
for process in started:
    process.start()
for process in started:
    process.join()
print(sorted((x, kind is Net, r) for x, kind, r in [queue.get(), queue.get()]))
"""
)
LOADER = """
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return i * i

loader = DataLoader(Squares(), batch_size=4, num_workers=1, multiprocessing_context="spawn",
                    collate_fn=lambda found: torch.tensor(found))
print([b.tolist() for b in loader])
"""
MET = "[(10.0, True, 0), (10.0, True, 1)]"


def test_spawned_processes_find_what_the_cell_defines_and_meet_whatever_their_port(capsys):
    ranks.run_cell(MAIN + SPAWN, 2)
    alone = "[(0.0, True, 0)]"  # and on the port of the other rank's
    assert capsys.readouterr().out == f"[rank 0] {alone}\n[rank 1] {alone}\n"


def test_forked_ones_have_a_group_of_their_own_each_time_and_the_ranks_keep_theirs(capsys):
    ranks.run_cell(MAIN + FORK, 2)
    assert capsys.readouterr().out == "".join(f"[rank {r}] {MET}\n" * 2 for r in range(2))
    ranks.run_cell("x = torch.ones(1)\ndist.all_reduce(x)\nx.item()")
    assert capsys.readouterr().out == "[rank 0] 2.0\n[rank 1] 2.0\n"


def test_spawned_workers_of_a_loader_find_the_cells_data_set(capsys):
    ranks.run_cell(LOADER, 1)
    assert capsys.readouterr().out == "[rank 0] [[0, 1, 4, 9], [16, 25, 36, 49]]\n"


def test_of_a_cell_that_was_stopped_no_process_is_left(tmp_path):
    ranks.start(1)
    code = (
        f"import os, time\ndef main(i):\n    open('{tmp_path}/' + str(os.getpid()), 'w').close()\n"
    )
    code += "    time.sleep(600)\nimport torch.multiprocessing as mp\n"
    code += "mp.start_processes(main, nprocs=2, start_method='fork')"
    with pytest.raises(ranks.RankError, match="limit of 2 s"):
        ranks.run_cell(code, limit_seconds=2)
    pids = [int(name) for name in os.listdir(tmp_path)]
    end = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.1)
    assert len(pids) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in pids)
