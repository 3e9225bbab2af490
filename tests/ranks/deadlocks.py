"""Programs in which ranks wait for something that never comes, each for another reason.

Name: what the cell does, its options, and words that its message must hold. More are in
`deadlocks_training.py`. A program may also fail with a better message than "Deadlock".
"""

from tests.ranks.slow_programs import IMPORTS as IMPORTS

STUCK = "✗ Deadlock: these ranks wait for something that will never come."
SHAPES = "passed tensors of different"

COLLECTIVES = {
    "a barrier that one leaves out": ("if rank:\n    dist.barrier()", "3", STUCK),
    "one barrier too many": ("dist.barrier()\nif rank == 0:\n    dist.barrier()", "2", STUCK),
    "a branch of one rank": (
        "if rank == 0:\n    dist.broadcast(x, 0)\ndist.all_reduce(x)", "3", STUCK,
    ),
    "a loop that ends by what each sees": (
        "loss = 1.0 + rank\nwhile loss > 0.5:\n    loss /= 2\n    dist.all_reduce(x)", "2", STUCK,
    ),
    "an error that one rank swallows": (
        "try:\n    if rank == 1:\n        raise ValueError\n    dist.all_reduce(x)\n"
        "except ValueError:\n    pass", "2", STUCK,
    ),
    "a metric that only rank 0 asks for": (
        "if rank == 0:\n    dist.all_gather([x, x], x)\n", "2", STUCK,
    ),
    "other roots of a broadcast": ("dist.broadcast(x, rank)", "2", "different roots"),
    "other places to reduce to": ("dist.reduce(x, rank)", "2", "different roots"),
    "gathered by its root only": (
        "if rank == 0:\n    dist.gather(x, [x, x], dst=0)", "2", STUCK,
    ),
    "scattered by all but the root": ("if rank:\n    dist.scatter(x, src=0)", "3", STUCK),
    "a reduce_scatter that one leaves out": (
        "if rank == 0:\n    dist.reduce_scatter_tensor(torch.ones(1), x)", "2", STUCK,
    ),
    "an all_to_all that one leaves out": (
        "if rank:\n    dist.all_to_all_single(torch.ones(3), torch.ones(3))", "3", STUCK,
    ),
    "objects that one doesn't send": (
        "if rank:\n    dist.all_gather_object([None] * 3, rank)", "3", STUCK,
    ),
    "an object list without its source": (
        "if rank:\n    dist.broadcast_object_list([None], 0)", "2", STUCK,
    ),
    "an asynchronous one that is never matched": (
        "if rank == 0:\n    work = dist.all_reduce(x, async_op=True)\n    work.wait()", "2", STUCK,
    ),
    "the last of several": (
        "works = [dist.all_reduce(x, async_op=True) for _ in range(3 - rank)]\n"
        "[work.wait() for work in works]", "2", STUCK,
    ),
    "a future of which all depends": (
        "if rank == 0:\n    dist.all_reduce(x, async_op=True).get_future().wait()", "2", STUCK,
    ),
    "a functional one": (
        "import torch.distributed._functional_collectives as fc\nif rank == 0:\n"
        "    fc.all_reduce(x, 'sum', dist.group.WORLD) + 0", "2", STUCK,
    ),
    "a monitored barrier": ("if rank:\n    dist.monitored_barrier()", "3", STUCK),
    "a monitored barrier against a plain one": (
        "dist.monitored_barrier() if rank else dist.barrier()", "2", STUCK,
    ),
    "tensors of other shapes": ("dist.all_reduce(torch.ones(4 + rank))", "2", SHAPES),
    "tensors of other shapes on four ranks": (
        "dist.broadcast(torch.ones(4 + (rank == 2)), 0)", "4", "different tensors",
    ),
    "tensors in another order": (
        "y = torch.ones(5)\nfor tensor in ((x, y) if rank else (y, x)):\n"
        "    dist.all_reduce(tensor)",
        "2", SHAPES,
    ),
    "checked, and one leaves it out": (
        "if rank == 0:\n    dist.broadcast(x, 0)", "2 --debug", "✗",
    ),
}  # fmt: skip

GROUPS = {
    "a group that one doesn't make": ("if rank == 0:\n    dist.new_group([0, 1])", "2", STUCK),
    "a group of its members only, and one doesn't come": (
        "if rank == 0:\n    dist.new_group([0, 1], use_local_synchronization=True)", "3", STUCK,
    ),
    "groups in another order": (
        "for members in [[0, 1], [0, 1, 2]][::1 if rank else -1]:\n    dist.new_group(members)",
        "3", STUCK,
    ),
    "a mesh that one doesn't make": (
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "if rank:\n    init_device_mesh('cpu', (2, 2))", "4", STUCK,
    ),
    "a group that one never begins": (
        "dist.destroy_process_group()\nif rank:\n    dist.init_process_group('gloo')",
        "3", STUCK,
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
    "rows and columns mixed up": (
        "rows = [dist.new_group(m) for m in ([0, 1], [2, 3])]\n"
        "columns = [dist.new_group(m) for m in ([0, 2], [1, 3])]\n"
        "dist.all_reduce(x, group=columns[rank % 2] if rank == 3 else rows[rank // 2])", "4", STUCK,
    ),
    "a sub-group that one of its members leaves out": (
        "group = dist.new_group([1, 2])\nif rank != 2:\n"
        "    dist.all_reduce(x, group=group)\n    dist.barrier()", "3", STUCK,
    ),
}  # fmt: skip

MESSAGES = {
    "all send before they receive": (
        "x = torch.ones(2_000_000)\ndist.send(x, 1 - rank)\ndist.recv(x, 1 - rank)", "2", STUCK,
    ),
    "all receive before they send": (
        "dist.recv(x, (rank - 1) % 3)\ndist.send(x, (rank + 1) % 3)",
        "3", "recv of float32 [2] from",
    ),
    "other tags": (
        "dist.recv(x, 0, tag=1) if rank else dist.send(x, 1, tag=2)", "2", STUCK,
    ),
    "the wrong peer": (
        "dist.recv(x, 2) if rank == 0 else dist.send(x, 0) if rank == 1 else dist.recv(x, 0)",
        "3", STUCK,
    ),
    "a receive that nobody answers": (
        "work = dist.irecv(x, 1) if rank == 0 else None\nwork and work.wait()", "2", "from rank 1",
    ),
    "from anybody, and nobody sends": ("if rank == 0:\n    dist.recv(x)", "2", STUCK),
    "from anybody, once too often": (
        "if rank == 0:\n    [dist.recv(x) for _ in range(3)]\nelse:\n    dist.send(x, 0)",
        "3", STUCK,
    ),
    "a batch with a receive too many": (
        "ops = [dist.P2POp(dist.irecv, x, 1 - rank)]\n"
        "ops += [dist.P2POp(dist.isend, x, 1 - rank)] if rank else []\n"
        "[work.wait() for work in dist.batch_isend_irecv(ops)]", "2", STUCK,
    ),
    "a consumer that wants one more": (
        "for _ in range(4 + rank):\n    dist.recv(x, 0) if rank else dist.send(x, 1)", "2", STUCK,
    ),
    "a message over another group": (
        "group = dist.new_group([0, 1])\n"
        "dist.recv(x, 0, group=group) if rank else dist.send(x, 1)", "2", STUCK,
    ),
    "a thread that is joined": (
        "if rank == 0:\n    helper = threading.Thread(target=dist.recv, args=(x, 1))\n"
        "    helper.start()\n    helper.join()", "2", STUCK,
    ),
    "a pool's result": (
        "from concurrent.futures import ThreadPoolExecutor\nif rank == 0:\n"
        "    with ThreadPoolExecutor(2) as pool:\n        pool.submit(dist.recv, x, 1).result()",
        "2", STUCK,
    ),
    "a message against a collective": (
        "dist.recv(x, 0) if rank else dist.all_reduce(x)", "2", STUCK,
    ),
}  # fmt: skip

STORES = {
    "a key that nobody sets": (
        "store = dist.distributed_c10d._get_default_store()\nif rank == 0:\n"
        "    store.set('ready', '1')\nstore.get('raedy' if rank else 'ready')", "2", STUCK,
    ),
    "a key that is set after the barrier": (
        "store = dist.distributed_c10d._get_default_store()\nif rank == 0:\n    dist.barrier()\n"
        "    store.set('late', '1')\nelse:\n    store.wait(['late'])\n    dist.barrier()",
        "2", STUCK,
    ),
    "keys of a store of one's own": (
        "port = 29642\nstore = dist.TCPStore('127.0.0.1', port, 2, is_master=rank == 0)\n"
        "store.get(f'from {1 - rank}')\nstore.set(f'from {rank}', 'x')", "2", STUCK,
    ),
}  # fmt: skip
