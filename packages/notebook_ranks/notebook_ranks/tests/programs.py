"""Programs in which ranks wait for each other: slow ones, and ones that never end.

A cell of `SLOW` must go through, however long one rank makes the others wait; the message of one of
`DEADLOCKS` must hold the words that stand beside it. Name: the cell, its options, the words.
"""

import textwrap

IMPORTS = "import os, queue, signal, socket, subprocess, sys, tempfile, threading, time\n"
IMPORTS += "from datetime import timedelta\nx = torch.ones(2)\n"
IMPORTS += "SLOW = 4.5  # seconds, longer than any patience of the engine\n"
STUCK = "✗ Deadlock: these ranks wait for something that will never come."
MODEL = """
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
net, batch = nn.Linear(4, 4), torch.ones(3, 4)
def train(model, steps=1):
    for _ in range(steps):
        model(batch).sum().backward()
"""
TENSOR = "from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh\n"
TENSOR += "mesh = init_device_mesh('cpu', (2,))\n"
STORE = "store = dist.distributed_c10d._get_default_store()\n"

# What both ranks do, and what one of two does late, or never.
CALLS = {
    "a barrier": ("", "dist.barrier()"),
    "a monitored barrier": ("", "dist.monitored_barrier()"),
    "an all_to_all": ("", "dist.all_to_all_single(torch.ones(2), torch.ones(2))"),
    "objects": ("", "dist.all_gather_object([None] * 2, rank)"),
    "an asynchronous one": ("", "work = dist.all_reduce(x, async_op=True)\nwork.wait()"),
    "a future with what comes after": (
        "", "work = dist.all_reduce(x, async_op=True)\n"
        "work.get_future().then(lambda f: f.value()[0] + 1).wait()",
    ),
    "a functional one": (
        "import torch.distributed._functional_collectives as fc\n",
        "fc.all_reduce(x, 'sum', dist.group.WORLD) + 0",
    ),
    "a new group": ("", "dist.new_group([0, 1])"),
    "a new group made by its members": (
        "", "dist.new_group([0, 1], use_local_synchronization=True)",
    ),
    "a group that is begun": ("dist.destroy_process_group()\n", "dist.init_process_group('gloo')"),
    "messages in one batch": (
        "ops = [dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, x, 1 - rank)]\n",
        "[work.wait() for work in dist.batch_isend_irecv(ops)]",
    ),
    "a model that is wrapped": (MODEL, "DDP(net)"),
    "gradients": (MODEL + "model = DDP(net)\nloss = model(batch).sum()\n", "loss.backward()"),
    "an optimizer that shares its state": (
        MODEL + "from torch.distributed.optim import ZeroRedundancyOptimizer\n"
        "optim = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.1)\n"
        "train(net)\noptim.step()\n", "optim.consolidate_state_dict()",
    ),
    "FSDP2's forward": (
        MODEL + "from torch.distributed.fsdp import fully_shard\nfully_shard(net)\n", "train(net)",
    ),
    "a sharded tensor made whole": (
        TENSOR + "whole = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])\n",
        "whole.full_tensor()",
    ),
    "a checkpoint": (
        "import torch.distributed.checkpoint as dcp\nwhere = [tempfile.mkdtemp()]\n"
        "dist.broadcast_object_list(where, 0)\n", "dcp.save({'x': x}, checkpoint_id=where[0])",
    ),
    "a pipeline's step": (
        MODEL + "from torch.distributed.pipelining import PipelineStage, ScheduleGPipe\n"
        "schedule = ScheduleGPipe(PipelineStage(net, rank, 2, device), 2)\n",
        "schedule.step(*([torch.ones(4, 4)] if rank == 0 else []))",
    ),
}  # fmt: skip

SLOW = {
    **{
        f"{name}, and one comes late": (f"{both}time.sleep(SLOW * rank)\n{call}", "2")
        for name, (both, call) in CALLS.items()
    },
    "two sub-groups at once, one of them slow": (
        "left, right = dist.new_group([0, 1]), dist.new_group([2, 3])\n"
        "if rank == 3:\n    time.sleep(SLOW)\n"
        "dist.all_reduce(x, group=left if rank < 2 else right)\ndist.barrier()", "4",
    ),
    "a key that nobody is meant to set": (
        STORE + "try:\n    store.wait(['never'], timedelta(seconds=SLOW))\n"
        "except (RuntimeError, dist.DistStoreError):\n    pass", "2",
    ),
    "a key that a thread sets": (
        # By a client of its own: a TCPStore's client, torchrun's too, does one thing at a time.
        STORE + "own = dist.PrefixStore('own', store)\n"
        "if rank == 0:\n    threading.Timer(SLOW, own.clone().set, ('timed', '1')).start()\n"
        "own.get('timed')\ndist.barrier()", "2",
    ),
    "a queue filled by a thread that receives": (
        "def fill(found):\n    dist.recv(x, 1)\n    time.sleep(SLOW)\n    found.put(x)\n"
        "if rank == 0:\n    found = queue.Queue()\n"
        "    threading.Thread(target=fill, args=(found,)).start()\n    found.get()\n"
        "    dist.send(x, 1)\nelse:\n    dist.send(x, 0)\n    dist.recv(x, 0)", "2",
    ),
    "a debugger that stops a rank for a while": (
        "if rank == 1:\n"
        "    subprocess.Popen(['sh', '-c', f'sleep {SLOW}; kill -CONT {os.getpid()}'])\n"
        "    os.kill(os.getpid(), signal.SIGSTOP)\ndist.barrier()\ntime.sleep(1)\ndist.barrier()",
        "2",
    ),
    "a rank that is stopped while it waits": (
        "if rank == 1:\n"
        "    subprocess.Popen(['sh', '-c', f'sleep 1; kill -STOP {os.getpid()}; sleep {SLOW};'\n"
        "                      f'kill -CONT {os.getpid()}'])\n    dist.barrier()\n"
        "else:\n    time.sleep(2)\n    dist.barrier()", "2",
    ),
    **{
        f"{name}, while the other waits": (f"if rank:\n{textwrap.indent(work, '    ')}\n"
                                           "dist.barrier()", "2")
        for name, work in {
            "a program that is waited for": "subprocess.run(['sleep', str(SLOW)])",
            "C code that keeps the interpreter's lock": "__import__('ctypes').PyDLL(None).sleep(5)",
            "a server that is slow to answer": "here, there = socket.socketpair()\n"
            "threading.Timer(SLOW, there.send, (b'x',)).start()\nhere.recv(1)",
            "a pool of processes": "import multiprocessing\n"
            "with multiprocessing.get_context('fork').Pool(1) as pool:\n"
            "    pool.map(time.sleep, [SLOW])",
            "a lock that a sleeping thread holds": "lock = threading.Lock()\nlock.acquire()\n"
            "threading.Timer(SLOW, lock.release).start()\nlock.acquire()",
            "a cold torch.compile": "os.environ['TORCHINDUCTOR_CACHE_DIR'] = tempfile.mkdtemp()\n"
            "torch.compile(lambda x: (x.sin() * 2 + x.cos()).sum())(torch.ones(9))",
        }.items()
    },
}  # fmt: skip

DEADLOCKS = {
    **{
        f"{name}, and one leaves it out": (
            f"{both}if rank == 0:\n{textwrap.indent(call, '    ')}", "2", STUCK
        )
        for name, (both, call) in CALLS.items()
    },
    "a loop that ends by what each sees": (
        "loss = 1.0 + rank\nwhile loss > 0.5:\n    loss /= 2\n    dist.all_reduce(x)", "2", STUCK,
    ),
    "other roots of a broadcast": ("dist.broadcast(x, rank)", "2", "different roots"),
    "a monitored barrier against a plain one": (
        "dist.monitored_barrier() if rank else dist.barrier()", "2", STUCK,
    ),
    "tensors of other shapes on four ranks": (
        "dist.broadcast(torch.ones(4 + (rank == 2)), 0)", "4", "different tensors",
    ),
    "checked, and one leaves it out": (
        "if rank == 0:\n    dist.broadcast(x, 0)", "2 --debug", "✗",
    ),
    "a circle of three groups": (
        "pairs = [dist.new_group(p) for p in ([0, 1], [1, 2], [0, 2])]\n"
        "first, second = {0: (0, 2), 1: (1, 0), 2: (2, 1)}[rank]\n"
        "dist.all_reduce(x, group=pairs[first])\ndist.all_reduce(x, group=pairs[second])",
        "3", STUCK,
    ),
    "the wrong group": (
        "pair = dist.new_group([0, 1])\n"
        "dist.all_reduce(x, group=pair if rank == 0 else None)", "2", STUCK,
    ),
    "all send before they receive": (
        "x = torch.ones(2_000_000)\ndist.send(x, 1 - rank)\ndist.recv(x, 1 - rank)", "2", STUCK,
    ),
    "other tags": ("dist.recv(x, 0, tag=1) if rank else dist.send(x, 1, tag=2)", "2", STUCK),
    "from anybody, once too often": (
        "if rank == 0:\n    [dist.recv(x) for _ in range(3)]\nelse:\n    dist.send(x, 0)",
        "3", STUCK,
    ),
    "a pool's result": (
        "from concurrent.futures import ThreadPoolExecutor\nif rank == 0:\n"
        "    with ThreadPoolExecutor(2) as pool:\n        pool.submit(dist.recv, x, 1).result()",
        "2", STUCK,
    ),
    "a message against a collective": (
        "dist.recv(x, 0) if rank else dist.all_reduce(x)", "2", STUCK,
    ),
    "a key that is set after the barrier": (
        STORE + "if rank == 0:\n    dist.barrier()\n    store.set('late', '1')\nelse:\n"
        "    store.wait(['late'])\n    dist.barrier()", "2", STUCK,
    ),
}  # fmt: skip
