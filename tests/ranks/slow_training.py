"""Correct training programs, as the tutorials of PyTorch have them, in which one rank is slow."""

MODEL = """
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
class Slow(nn.Module):
    def __init__(self, work, on=0):
        super().__init__()
        self.linear, self.work, self.on = nn.Linear(4, 4), work, on
    def forward(self, x):
        if rank == self.on:
            self.work()
        return self.linear(x)
def train(model, steps=2):
    for _ in range(steps):
        model(torch.ones(3, 4)).sum().backward()
"""
SLEEP = "lambda: time.sleep(SLOW)"

DATA_PARALLEL = {
    "a sleep in forward": (MODEL + f"train(DDP(Slow({SLEEP})), 1)", "2"),
    "a program in forward": (
        MODEL + "train(DDP(Slow(lambda: subprocess.run(['sleep', str(SLOW)]))), 1)", "2",
    ),
    "a collective in forward, and then a sleep": (
        MODEL + "train(DDP(Slow(lambda: (torch.cuda.is_available(), time.sleep(SLOW)), 1)), 1)\n"
        "dist.barrier()", "3",
    ),
    "a sleep in a hook of backward": (
        MODEL + "model = Slow(int)\nmodel.linear.weight.register_hook(\n"
        "    lambda grad: time.sleep(SLOW) if rank == 0 else None)\ntrain(DDP(model), 1)", "2",
    ),
    "a hook of communication that sleeps": (
        MODEL + "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
        "def hook(state, bucket):\n    time.sleep(SLOW if rank == 0 else 0)\n"
        "    return default_hooks.allreduce_hook(dist.group.WORLD, bucket)\n"
        "model = DDP(Slow(int))\nmodel.register_comm_hook(None, hook)\ntrain(model, 1)", "2",
    ),
    "uneven inputs, joined": (
        MODEL + "from torch.distributed.algorithms.join import Join\nmodel = DDP(Slow(int))\n"
        "with Join([model]):\n    for step in range(2 + rank):\n"
        "        time.sleep(SLOW if step == 2 else 0)\n        train(model, 1)", "2",
    ),
    "gradients added up without talking": (
        MODEL + "model = DDP(Slow(int))\nwith model.no_sync():\n    train(model, 1)\n"
        "    time.sleep(SLOW * rank)\ntrain(model, 1)", "2",
    ),
    "a loader whose workers are slow": (
        MODEL + "from torch.utils.data import DataLoader, Dataset\n"
        "class Rows(Dataset):\n    def __len__(self):\n        return 2\n"
        "    def __getitem__(self, i):\n        time.sleep(SLOW * rank * i)\n"
        "        return torch.ones(4)\nmodel = DDP(Slow(int))\n"
        "for batch in DataLoader(Rows(), num_workers=1):\n    model(batch).sum().backward()", "2",
    ),
    "an optimizer that shares its state": (
        MODEL + "from torch.distributed.optim import ZeroRedundancyOptimizer\n"
        "model = DDP(Slow(int))\n"
        "optim = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)\n"
        "train(model, 1)\ntime.sleep(SLOW * rank)\noptim.step()\noptim.consolidate_state_dict()",
        "2",
    ),
}  # fmt: skip

SHARDED = {
    "FSDP2 with a slow forward": (
        MODEL + "from torch.distributed.fsdp import fully_shard\n"
        f"model = Slow({SLEEP})\nfully_shard(model.linear)\nfully_shard(model)\ntrain(model, 1)",
        "2",
    ),
    "a sharded tensor made whole": (
        "from torch.distributed.tensor import distribute_tensor, Shard, init_device_mesh\n"
        "mesh = init_device_mesh('cpu', (2,))\n"
        "whole = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])\n"
        "time.sleep(SLOW * rank)\nwhole.full_tensor()", "2",
    ),
    "layers in parallel, one rank late": (
        "from torch.distributed.tensor.parallel import *\n"
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "mesh = init_device_mesh('cpu', (2,))\n"
        "net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))\n"
        "net = parallelize_module(net, mesh, {'0': ColwiseParallel(), '1': RowwiseParallel()})\n"
        "time.sleep(SLOW * rank)\nnet(torch.ones(2, 4)).sum().backward()", "2",
    ),
    "a pipeline with a slow stage": (
        MODEL + "from torch.distributed.pipelining import PipelineStage, ScheduleGPipe\n"
        "stage = PipelineStage(Slow(lambda: time.sleep(SLOW / 2), on=1), rank, 3, device)\n"
        "schedule = ScheduleGPipe(stage, n_microbatches=2)\n"
        "schedule.step(*([torch.ones(4, 4)] if rank == 0 else []))", "3",
    ),
    "a checkpoint to a slow store": (
        "import torch.distributed.checkpoint as dcp\n"
        "class SlowStore(dcp.FileSystemWriter):\n    def write_data(self, *args):\n"
        "        time.sleep(SLOW * rank)\n        return super().write_data(*args)\n"
        "where = [tempfile.mkdtemp() if rank == 0 else None]\n"
        "dist.broadcast_object_list(where, 0)\n"
        "dcp.save({'x': x}, storage_writer=SlowStore(where[0]))", "2",
    ),
    "a checkpoint in the background": (
        "import torch.distributed.checkpoint as dcp\n"
        "class SlowStore(dcp.FileSystemWriter):\n    def write_data(self, *args):\n"
        "        time.sleep(SLOW * rank)\n        return super().write_data(*args)\n"
        "where = [tempfile.mkdtemp() if rank == 0 else None]\n"
        "dist.broadcast_object_list(where, 0)\n"
        "dcp.async_save({'x': x}, storage_writer=SlowStore(where[0])).result()", "2",
    ),
    "a cold torch.compile": (
        "os.environ['TORCHINDUCTOR_CACHE_DIR'] = tempfile.mkdtemp()\n"
        "if rank == 0:\n    torch.compile(lambda x: (x.sin() * 2 + x.cos()).sum())(torch.ones(9))\n"
        "dist.barrier()", "2 --timeout 120",
    ),
    "large tensors": (
        "x = torch.ones(30_000_000)\nend = time.monotonic() + SLOW\nwhile True:\n"
        "    go_on = torch.tensor(float(time.monotonic() < end))\n"
        "    dist.broadcast(go_on, 0)\n    if not go_on:\n        break\n    dist.all_reduce(x)",
        "2",
    ),
    "a model that is slow to begin": (MODEL + "time.sleep(SLOW * rank)\n"
    "train(DDP(Slow(int)))", "2"),
}  # fmt: skip
