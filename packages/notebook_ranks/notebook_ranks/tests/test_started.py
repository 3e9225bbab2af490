"""Processes that a cell starts: they find what it defines, and none is left."""

import os
import time
from pathlib import Path

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
    if rank or world_size == 1:
        dist.destroy_process_group()
"""
# A Python that ends with an open gloo group aborts now and then (pytorch/pytorch#179291): each ends
# its group. A forked process runs no such end. Rank 0 of two forgets it there: what it leaves
# behind must not be met by those who come next.
SPAWN = """
def demo(nprocs):
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(main, args=(nprocs, queue), nprocs=nprocs)
    x, kind, r = queue.get()
    return x, kind is Net, r

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
MET = "[(10.0, True, 0), (10.0, True, 1)]"


def test_spawned_processes_find_what_the_cell_defines_and_meet_whatever_their_port(said):
    # Each rank starts one, on the same port.
    assert said(MAIN + SPAWN, 2) == "[rank 0] (0.0, True, 0)\n[rank 1] (0.0, True, 0)\n"


def test_forked_ones_have_a_group_of_their_own_each_time_and_the_ranks_keep_theirs(said):
    assert said(MAIN + FORK, 2, limit_seconds=240) == "".join(
        f"[rank {r}] {MET}\n" * 2 for r in range(2)
    )
    both = "[rank 0] 2.0\n[rank 1] 2.0\n"
    assert said("x = torch.ones(1)\ndist.all_reduce(x)\nx.item()") == both


def test_of_a_cell_that_fails_no_process_is_left(tmp_path, failing):
    cell = "import os, time\nimport torch.multiprocessing as mp\ndef main(i):\n"
    cell += f"    open('{tmp_path}/' + str(os.getpid()), 'w').close()\n    time.sleep(1000)\n"
    cell += "mp.start_processes(main, nprocs=2, join=False, start_method='fork')\n"
    cell += f"while len(os.listdir('{tmp_path}')) < 2:\n    time.sleep(0.01)\n1 / 0"
    assert "ZeroDivisionError" in failing(cell, 1)
    pids = [int(name) for name in os.listdir(tmp_path)]
    end = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    assert len(pids) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in pids)
