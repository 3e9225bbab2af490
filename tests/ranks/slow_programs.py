"""Correct programs in which others wait long for one rank: none of them is a deadlock.

Name: what the cell does, and its options. Each is slow in another way; `SLOW` seconds are longer
than any patience of the engine. More are in `slow_training.py` and `slow_processes.py`.
"""

IMPORTS = "import os, queue, signal, socket, subprocess, sys, tempfile, threading, time\n"
IMPORTS += "from datetime import timedelta\nSLOW = 4.5\nx = torch.ones(2)\n"

COLLECTIVES = {
    "a rank that comes late": ("if rank == 1:\n    time.sleep(SLOW)\ndist.barrier()", "3"),
    "async operations waited for in another order": (
        "y = torch.ones(3)\na = dist.all_reduce(x, async_op=True)\nif rank == 1:\n"
        "    time.sleep(SLOW)\nb = dist.broadcast(y, 0, async_op=True)\nb.wait()\na.wait()", "2",
    ),
    "who asks again and again whether it is done": (
        "work = dist.all_reduce(x, async_op=True) if rank == 0 else time.sleep(SLOW)\n"
        "while rank == 0 and not work.is_completed():\n    time.sleep(0.1)\n"
        "if rank:\n    dist.all_reduce(x)", "2",
    ),
    "a future with what comes after": (
        "if rank:\n    time.sleep(SLOW)\n"
        "work = dist.all_reduce(x, async_op=True)\n"
        "work.get_future().then(lambda f: f.value()[0] + 1).wait()", "2",
    ),
    "two sub-groups at once, one of them slow": (
        "left, right = dist.new_group([0, 1]), dist.new_group([2, 3])\n"
        "if rank == 3:\n    time.sleep(SLOW)\n"
        "dist.all_reduce(x, group=left if rank < 2 else right)\ndist.barrier()", "4",
    ),
    "a new group that one joins late": (
        "if rank == 1:\n    time.sleep(SLOW)\ngroup = dist.new_group([0, 1])\n"
        "dist.all_reduce(x, group=group)", "2",
    ),
    "a new group made by its members only": (
        "if rank == 1:\n    time.sleep(SLOW)\nif rank < 2:\n"
        "    group = dist.new_group([0, 1], use_local_synchronization=True)\n"
        "    dist.barrier(group)", "3",
    ),
    "a mesh that one joins late": (
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "if rank == 1:\n    time.sleep(SLOW)\n"
        "mesh = init_device_mesh('cpu', (2, 2), mesh_dim_names=('dp', 'tp'))\n"
        "dist.all_reduce(x, group=mesh['tp'].get_group())", "4",
    ),
    "a group that one begins late": (
        "if rank == 1:\n    time.sleep(SLOW)\ndist.init_process_group('gloo')\ndist.barrier()",
        "2",
    ),
    "a group made anew": (
        "dist.destroy_process_group()\nif rank == 1:\n    time.sleep(SLOW)\n"
        "dist.init_process_group('gloo')\ndist.all_reduce(x)", "2",
    ),
    "a monitored barrier": (
        "if rank == 1:\n    time.sleep(SLOW)\ndist.monitored_barrier()", "3",
    ),
    "a monitored barrier that is meant to give up": (
        "group, wait = dist.new_group([0, 1]), timedelta(seconds=SLOW)\nif rank == 0:\n    try:\n"
        "        dist.monitored_barrier(group, timeout=wait)\n    except RuntimeError as error:\n"
        "        assert 'rank 1' in str(error).lower()\n"
        "    else:\n        raise AssertionError('it came')",
        "2",
    ),
    "a group that is meant to give up": (
        "group = dist.new_group([0, 1], timeout=timedelta(seconds=SLOW))\nif rank == 0:\n"
        "    try:\n        dist.recv(x, 1, group=group)\n    except RuntimeError:\n        pass",
        "2",
    ),
    "objects that are slow to pickle": (
        "class Slow:\n    def __reduce__(self):\n        time.sleep(SLOW)\n"
        "        return (int, (3,))\nfound = [None, None]\n"
        "dist.all_gather_object(found, Slow() if rank else 1)\nassert found == [1, 3]", "2",
    ),
    "objects that are slow to unpickle": (
        "class Slow:\n    def __reduce__(self):\n        return (time.sleep, (SLOW,))\n"
        "given = [Slow() if rank == 0 else None]\ndist.broadcast_object_list(given, 0)\n"
        "dist.barrier()", "2",
    ),
    "a functional collective": (
        "import torch.distributed._functional_collectives as fc\n"
        "if rank:\n    time.sleep(SLOW)\n"
        "found = fc.all_reduce(x, 'sum', dist.group.WORLD) + 0", "2",
    ),
    "scattered in turns": (
        "parts = [torch.ones(2)] * 2\nfor step in range(3):\n    if rank == 0:\n"
        "        time.sleep(SLOW if step == 1 else 0)\n"
        "    dist.scatter(x, parts if rank == 0 else None, src=0)", "2",
    ),
}  # fmt: skip

MESSAGES = {
    "a send about to come from another thread": (
        "def later():\n    time.sleep(SLOW)\n    dist.send(x, 1)\n"
        "if rank == 0:\n    helper = threading.Thread(target=later)\n    helper.start()\n"
        "if rank == 1:\n    dist.recv(x, 0)", "2",
    ),
    "a timer that sends": (
        "if rank == 0:\n    threading.Timer(SLOW, dist.send, (x, 1)).start()\n"
        "    dist.recv(x, 1)\nelse:\n    dist.recv(x, 0)\n    dist.send(x, 0)", "2",
    ),
    "a thread that receives, and is joined": (
        "if rank == 0:\n    helper = threading.Thread(target=dist.recv, args=(x, 1))\n"
        "    helper.start()\n    helper.join()\nelse:\n    time.sleep(SLOW)\n    dist.send(x, 0)",
        "2",
    ),
    "a queue filled by a thread that receives": (
        "def fill(found):\n    dist.recv(x, 1)\n    time.sleep(SLOW)\n    found.put(x)\n"
        "if rank == 0:\n    found = queue.Queue()\n"
        "    threading.Thread(target=fill, args=(found,)).start()\n    found.get()\n"
        "    dist.send(x, 1)\nelse:\n    dist.send(x, 0)\n    dist.recv(x, 0)", "2",
    ),
    "from any source, one of them late": (
        "if rank == 0:\n    for _ in range(2):\n        dist.recv(x)\n"
        "else:\n    time.sleep(SLOW * (rank - 1))\n    dist.send(x, 0)", "3",
    ),
    "received long before it is sent": (
        "work = dist.irecv(x, 0) if rank else None\nif rank == 0:\n    time.sleep(SLOW)\n"
        "    dist.isend(x, 1).wait()\nelse:\n    work.wait()", "2",
    ),
    "sent long before it is received": (
        "x = torch.ones(2_000_000)\nif rank == 0:\n    dist.send(x, 1)\nelse:\n"
        "    time.sleep(SLOW)\n    dist.recv(x, 0)", "2",
    ),
    "a ring in one batch, one rank late": (
        "if rank == 1:\n    time.sleep(SLOW)\n"
        "ops = [dist.P2POp(dist.isend, x, (rank + 1) % 3),\n"
        "       dist.P2POp(dist.irecv, torch.ones(2), (rank - 1) % 3)]\n"
        "for work in dist.batch_isend_irecv(ops):\n    work.wait()", "3",
    ),
    "a chain in which each waits for the one before": (
        "if rank:\n    dist.recv(x, rank - 1)\ntime.sleep(SLOW / 3)\n"
        "if rank < 3:\n    dist.send(x, rank + 1)\ndist.barrier()", "4",
    ),
    "two tags, taken in the other order": (
        "y = torch.ones(2)\nif rank == 0:\n    works = [dist.isend(x, 1, tag=1)]\n"
        "    time.sleep(SLOW)\n    works += [dist.isend(y, 1, tag=2)]\n"
        "    [work.wait() for work in works]\n"
        "else:\n    dist.recv(y, 0, tag=2)\n    dist.recv(x, 0, tag=1)", "2",
    ),
}  # fmt: skip

STORES = {
    "a key that is set late": (
        "store = dist.distributed_c10d._get_default_store()\nif rank == 0:\n"
        "    time.sleep(SLOW)\n    store.set('ready', '1')\nstore.get('ready')", "2",
    ),
    "a key that nobody is meant to set": (
        "store = dist.distributed_c10d._get_default_store()\ntry:\n"
        "    store.wait(['never'], timedelta(seconds=SLOW))\n"
        "except (RuntimeError, dist.DistStoreError):\n    pass", "2",
    ),
    "a key that a child process sets": (
        "port = 29641\nstore = dist.TCPStore('127.0.0.1', port, 2, is_master=rank == 0)\n"
        "child = ('import sys, time, torch.distributed as d; time.sleep(float(sys.argv[1]));'\n"
        "         f'd.TCPStore(\"127.0.0.1\", {port}, is_master=False).set(\"k\", \"1\")')\n"
        "if rank == 0:\n    other = subprocess.Popen([sys.executable, '-c', child, str(SLOW)])\n"
        "store.get('k')\ndist.barrier()\nif rank == 0:\n    other.wait()", "2",
    ),
    "a key that a thread sets": (
        "store = dist.distributed_c10d._get_default_store()\nif rank == 0:\n"
        "    threading.Timer(SLOW, store.set, ('timed', '1')).start()\nstore.get('timed')\n"
        "dist.barrier()", "2",
    ),
}  # fmt: skip
